"""Runs a model and what is proposed as its attentions, and compares what they compute."""

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from benanza_ingest.extract import wired
from benanza_ingest.groups.attention.propose import Proposal, propose
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.limits import Limits
from benanza_runner.onnx_layers.layer_model import layer_model

Values = dict[str, npt.NDArray[Any]]


def wiring_of(model: ModelProto) -> Wiring:
    """The layers of a model as it stands."""
    return wired(model.SerializeToString(), batch=None, dims={}, limits=Limits()).wiring


def values_of(model: ModelProto, seed: int = 0) -> Values:
    """All values of a model, with random inputs and weights."""
    random = np.random.default_rng(seed)

    def drawn(onnx_type: int, shape: tuple[int, ...]) -> npt.NDArray[Any]:
        if onnx_type == TensorProto.BOOL:
            return random.random(shape) < 0.7
        if onnx_type == TensorProto.FLOAT16:
            return random.standard_normal(shape).astype(np.float16)
        return random.standard_normal(shape, np.float32)

    whole = ModelProto()
    whole.CopyFrom(model)
    values: Values = {}
    for at, weight in enumerate(model.graph.initializer):
        if weight.data_location == TensorProto.EXTERNAL:
            values[weight.name] = drawn(weight.data_type, tuple(weight.dims))
            whole.graph.initializer[at].CopyFrom(
                numpy_helper.from_array(values[weight.name], weight.name)
            )
        else:
            values[weight.name] = numpy_helper.to_array(weight)
    feeds = {}
    for given in model.graph.input:
        known = given.type.tensor_type
        shape = tuple(dim.dim_value for dim in known.shape.dim)
        feeds[given.name] = drawn(known.elem_type, shape)
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(whole).run(None, feeds, intermediate=True)
    return values | feeds | dict(found)


def check(model: ModelProto, seed: int = 0) -> list[Proposal]:
    """What is proposed, each of which has computed what the model does.

    Where the model's own softmax has nothing but masked keys, it makes NaN; ONNX's operator, zero.
    """
    proposals = propose(wiring_of(model))
    if not proposals:
        return []
    values = values_of(model, seed)
    for proposal in proposals:
        layer = proposal.form.layer
        made = layer_model(layer)
        names = {f"t{at}": name for at, name in enumerate(proposal.names)}
        feeds = {name: values[names[name]] for name in made.constants | made.inputs}
        for weight in list(made.proto.graph.initializer):
            if weight.name in made.constants:
                made.proto.graph.initializer.remove(weight)
        with np.errstate(all="ignore"):
            results: Any = ReferenceEvaluator(made.proto).run([f"t{layer.outputs[0]}"], feeds)
        found = np.asarray(results[0])
        expected = values[proposal.names[layer.outputs[0]]]
        assert found.shape == expected.shape
        known = ~np.isnan(expected)
        assert known.any()
        loose = 2e-2 if expected.dtype == np.float16 else 1e-4
        np.testing.assert_allclose(found[known], expected[known], rtol=loose, atol=loose / 10)
    return proposals
