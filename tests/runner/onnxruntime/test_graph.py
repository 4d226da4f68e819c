"""What ONNX Runtime makes of layers."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.onnxruntime import graph as onnxruntime_graph
from benanza_runner.onnxruntime.graph import as_run
from benanza_runner.onnxruntime.session import CPU, Session
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer, Tensor
from tests.runner.layers import conv, conv_group, floats, operator, weights


def gemm_relu(inner: int, columns: int) -> Layer:
    tensors = (floats(1, inner), weights(columns, inner), weights(columns), floats(1, columns))
    operators = (
        operator("Gemm", 13, (0, 1, 2), (3,), transB=1),
        operator("Relu", 13, (3,), (4,)),
    )
    return canonical(Layer((*tensors, floats(1, columns)), operators, (4,)))


def computed(model: LayerModel) -> NDArray[np.float32]:
    class Peeking(Session):
        def read(self) -> NDArray[np.float32]:
            self.call()
            (value,) = self._outputs.values()
            return np.asarray(value.numpy(), np.float32)

    return Peeking(model.proto, model.constants, model.inputs, CPU, 1).read()


def op_types(model: LayerModel) -> list[str]:
    return [node.op_type for node in model.proto.graph.node]


@pytest.mark.parametrize(
    ("rest", "nodes"),
    [
        (["BatchNormalization"], ["Conv"]),
        (["Relu"], ["FusedConv"]),
        (["BatchNormalization", "Relu"], ["FusedConv"]),
        (["Add"], ["Conv", "Add"]),
        (["Add", "Relu"], ["Conv", "Add", "Relu"]),
        (["BatchNormalization", "Add", "Relu"], ["FusedConv"]),
    ],
    ids="+".join,
)
def test_groups_and_what_they_compute(rest: list[str], nodes: list[str], tmp_path: Path) -> None:
    model = layer_model(conv_group(64, 6, *rest))
    fused = as_run(model, tmp_path, CPU, optimised=True)
    assert op_types(fused) == nodes
    np.testing.assert_allclose(computed(fused), computed(model), rtol=1e-3, atol=1e-3)


def test_weights_that_are_folded_are_those_of_the_fused_node(tmp_path: Path) -> None:
    model = layer_model(conv_group(64, 6, "BatchNormalization"))
    fused = as_run(model, tmp_path, CPU, optimised=True)
    (kernels,) = fused.constants.values()
    assert kernels.shape == (64, 64, 3, 3)
    assert not any(np.array_equal(kernels, array) for array in model.constants.values())
    assert fused.inputs is model.inputs


def test_the_largest_weights_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnxruntime_graph, "UNFOLDED_FROM_BYTES", 100_000)
    model = layer_model(gemm_relu(200, 300))
    fused = as_run(model, tmp_path, CPU, optimised=True)
    assert op_types(fused) == ["FusedGemm"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 50_000
    large = max(model.constants.values(), key=lambda array: array.size)
    assert any(array is large for array in fused.constants.values())
    np.testing.assert_allclose(computed(fused), computed(model), rtol=1e-4)


def test_one_operator_stays_as_it_is(tmp_path: Path) -> None:
    model = layer_model(conv(64, 6))
    same = as_run(model, tmp_path, CPU, optimised=False)
    assert op_types(same) == ["Conv"]
    np.testing.assert_array_equal(computed(same), computed(model))


def test_a_group_is_fused_as_in_the_middle_of_a_model(tmp_path: Path) -> None:
    """ONNX Runtime makes no FastGelu of what a model returns."""
    kind = Tensor("float32", (), constant=True)
    numbers = [
        replace(kind, value=np.float32(n).tobytes()) for n in (3, 0.044715, 0.79788458, 1, 0.5)
    ]
    x = floats(2, 8)
    operators = (
        operator("Pow", 15, (0, 1), (6,)),
        operator("Mul", 14, (6, 2), (7,)),
        operator("Add", 14, (0, 7), (8,)),
        operator("Mul", 14, (8, 3), (9,)),
        operator("Tanh", 13, (9,), (10,)),
        operator("Add", 14, (10, 4), (11,)),
        operator("Mul", 14, (0, 5), (12,)),
        operator("Mul", 14, (12, 11), (13,)),
    )
    model = layer_model(canonical(Layer((x, *numbers, *(x,) * 8), operators, (13,))))
    fused = as_run(model, tmp_path, CPU, optimised=True)
    assert op_types(fused) == ["FastGelu"]
    np.testing.assert_allclose(computed(fused), computed(model), rtol=1e-4, atol=1e-4)


def test_casts_show(tmp_path: Path) -> None:
    half = layer_model(retyped(conv(2, 4), "fp16"))
    assert "Cast" in op_types(as_run(half, tmp_path, CPU, optimised=False))
