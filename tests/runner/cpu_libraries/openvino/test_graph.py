"""A layer as OpenVINO reads it, and which operators it runs at each call."""

import numpy as np
import pytest

pytest.importorskip("openvino")

import openvino as ov

from benanza_runner.cpu_libraries.openvino import graph
from benanza_runner.cpu_libraries.openvino.graph import executed, read
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_schemas.layer import Layer, Tensor
from tests.runner.layers import conv, floats, gemm, operator, relu, single, weights

CORE = ov.Core()


def ran(layer: Layer) -> list[str]:
    """The kinds of operators, without the names of their implementations."""
    compiled = CORE.compile_model(read(CORE, layer_model(layer), 1), "CPU")
    return [name.split()[0] for name in executed(compiled)]


def test_each_copy_has_inputs_and_results_of_its_own() -> None:
    made = read(CORE, layer_model(gemm(4, 8, 2)), 3)
    assert sorted(given.any_name for given in made.inputs) == ["t0/0", "t0/1", "t0/2"]
    assert len({*(result.any_name for result in made.outputs)}) == 3


def test_large_weights_are_not_written_into_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = gemm(4, 8, 2)
    model = layer_model(layer)
    results = []
    for most in (1 << 30, 1):
        monkeypatch.setattr(graph, "UNFOLDED_FROM_BYTES", most)
        made = read(CORE, model, 2)
        assert len(made.inputs) == 2
        compiled = CORE.compile_model(made, "CPU")
        results.append(compiled([model.inputs["t0"]] * 2)[0])
    assert np.array_equal(*results)


def test_weights_stay_as_they_are() -> None:
    """OpenVINO may write into neither; the next candidate reads them."""
    model = layer_model(conv(16, 8))
    before = {name: array.copy() for name, array in model.constants.items()}
    CORE.compile_model(read(CORE, model, 1), "CPU")
    assert all(np.array_equal(model.constants[name], array) for name, array in before.items())


@pytest.mark.parametrize(
    ("layer", "kinds"),
    [
        (relu(64), ["Subgraph"]),
        (conv(16, 8), ["Convolution"]),
        (gemm(4, 8, 2), ["FullyConnected"]),
        # What is computed of weights alone is computed once.
        (single("MatMul", 13, (floats(4, 8), weights(8, 2)), (floats(4, 2),)), ["FullyConnected"]),
        (
            single("Transpose", 13, (floats(4, 8, 2),), (floats(2, 4, 8),), perm=(2, 0, 1)),
            ["Transpose"],
        ),
    ],
)
def test_what_runs_at_each_call(layer: Layer, kinds: list[str]) -> None:
    assert ran(layer) == kinds


def test_a_view_counts_only_alone() -> None:
    x, shape = floats(4, 8), Tensor("int64", (2,), value=np.array([8, 4]).tobytes(), constant=True)
    view = operator("Reshape", 13, (0, 1), (2,))
    alone = Layer((x, shape, floats(8, 4)), (view,), (2,))
    assert ran(alone) == ["Reshape"]
    activation = operator("Relu", 13, (2,), (3,))
    assert ran(Layer((*alone.tensors, floats(8, 4)), (view, activation), (3,))) == ["Subgraph"]
