"""The attentions of exported models compute what the models' own operators do."""

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
import pytest

from benanza_ingest.extract import wired
from benanza_ingest.groups.attention.propose import propose
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.limits import Limits
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.session import CPU, session_options
from benanza_schemas.layer import Layer
from tests.ingest.groups.attention.running import Values
from tests.ingest.real_models import content

MODELS = (
    "diffusers-unet-raw",
    "timm-vit_tiny_patch16_224",
    "torchvision-swin_t",
    "transformers-bert-raw",
    "transformers-gpt2-raw",
    "transformers-llama",
    "transformers-llama-raw",
    "transformers-t5-decoder",
    "transformers-whisper-decoder-raw",
)


def run(layer: Layer, names: tuple[str, ...], values: Values) -> npt.NDArray[np.float32]:
    """What ONNX Runtime makes of a layer; values that are not there yet are drawn."""
    model = layer_model(layer)
    for given in (model.constants, model.inputs):
        for name, drawn in given.items():
            given[name] = values.setdefault(names[int(name.removeprefix("t"))], drawn)
    options = session_options(model.constants, CPU, 1)
    session = ort.InferenceSession(model.proto.SerializeToString(), options, providers=[CPU.name])
    (found,) = session.run([f"t{index}" for index in layer.outputs], model.inputs)
    return np.asarray(found)


@pytest.mark.parametrize("name", MODELS)
def test_attentions_compute_what_the_models_operators_do(name: str) -> None:
    wiring = wired(content(name), batch=None, dims={}, limits=Limits()).wiring
    joiner = Joiner(wiring)
    forms = {proposal.form: proposal for proposal in propose(wiring)}
    assert forms
    for form, proposal in forms.items():
        own = joiner.named(proposal.positions)
        values: Values = {}
        for value in own.names:
            known = wiring.graph.constants.value(value)
            if known is not None:
                values[value] = known
        expected = run(own.layer, own.names, values)
        found = run(form.layer, proposal.names, values)
        assert found.std() > 0
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
