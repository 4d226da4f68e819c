"""The kernel that users may begin with is right, and for a task that they can have."""

from pathlib import Path

import numpy as np
import pytest

from benanza.tasks.compiling import compiled
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.submitted.draws import Draws
from benanza_runner.submitted.on_cpu.loading import load
from benanza_runner.submitted.signature import signature_of
from benanza_runner.submitted.verdict import why_wrong
from benanza_schemas.identity import fingerprint_of_canonical
from tests.runner.layers import floats, single, weights

EXAMPLE = Path(__file__).parents[3] / "examples" / "kernels" / "normalise.c"

X, BY_MAP = floats(1, 272, 14, 14), weights(272)


@pytest.mark.needs_program("cc")
def test_it_solves_its_task() -> None:
    layer = single(
        *("BatchNormalization", 9, (X, BY_MAP, BY_MAP, BY_MAP, BY_MAP), (X,)),
        epsilon=float(np.float32(1e-5)),
        momentum=float(np.float32(0.9)),
    )
    assert f"_{fingerprint_of_canonical(layer)[:12]} " in EXAMPLE.read_text()
    signature = signature_of(retyped(layer, "fp32"))
    draws = Draws(layer, signature, "fp32", np.random.default_rng(1))
    given, inputs = draws.weights(), draws.inputs()
    draws.use(given)
    output = np.zeros((1, 272, 14, 14), np.float32)
    with compiled(EXAMPLE) as library:
        kernel = load(library, [*inputs, *given], given, [output])
        kernel.prepare()
        kernel.call()
    assert not why_wrong(signature.outputs, [output], draws.expected(inputs), "fp32")
