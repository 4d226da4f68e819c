"""Layers in the layout NCHWc compute what they compute in ONNX's own."""

from collections.abc import Mapping

import numpy as np
import onnxruntime as ort
import pytest
from numpy.typing import NDArray

from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnxruntime.blocked import (
    DOMAIN,
    Shape,
    block_size,
    blocked,
    in_memory,
    maps,
    moves,
)
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer
from tests.runner.layers import conv, conv_group, floats, gemm, operator, relu, single, weights

pytestmark = pytest.mark.skipif(
    not block_size(), reason="ONNX Runtime has no layout NCHWc on this processor"
)

Floats = NDArray[np.float32]

ODD_MAP = floats(1, 33, 7, 5)
MAP, SQUEEZED, TOKENS = floats(1, 32, 7, 5), floats(1, 32, 1, 1), floats(1, 7, 5, 32)


def conv_to_tokens() -> Layer:
    kernels = weights(32, 32, 1, 1)
    transpose = operator("Transpose", 13, (2,), (3,), perm=(0, 2, 3, 1))
    operators = (operator("Conv", 11, (0, 1), (2,)), transpose)
    return canonical(Layer((MAP, kernels, MAP, TOKENS), operators, (3,)))


def to_odd_channels() -> Layer:
    return single("Conv", 1, (MAP, weights(33, 32, 1, 1)), (ODD_MAP,), kernel_shape=(1, 1))


def norm_then_conv() -> Layer:
    scales = [weights(32)] * 4
    operators = (
        operator("BatchNormalization", 15, (0, 1, 2, 3, 4), (5,)),
        operator("Relu", 14, (5,), (6,)),
        operator("Conv", 11, (6, 7), (8,)),
    )
    return canonical(Layer((MAP, *scales, MAP, MAP, weights(32, 32, 1, 1), MAP), operators, (8,)))


def run(model: LayerModel, inputs: Mapping[str, Floats]) -> list[Floats]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    constants = {n: ort.OrtValue.ortvalue_from_numpy(a) for n, a in model.constants.items()}
    if constants:
        options.add_external_initializers(list(constants), list(constants.values()))
    session = ort.InferenceSession(model.proto.SerializeToString(), options)
    return [np.asarray(each) for each in session.run(None, inputs)]


def in_blocks(array: Floats) -> Floats:
    """Blocks of channels, the channels of a block innermost, the last block padded with zeros."""
    batch, channels, *space = shape = in_memory(array.shape)
    padded = np.zeros(shape, np.float32)
    padded[:, : array.shape[1]] = array
    split = padded.reshape(batch, channels // block_size(), block_size(), *space)
    return np.ascontiguousarray(np.moveaxis(split, 2, -1)).reshape(shape)


def channels_first(array: Floats, shape: Shape) -> Floats:
    """The inverse; `shape` is that of the result."""
    batch, channels, *space = array.shape
    split = array.reshape(batch, channels // block_size(), *space, block_size())
    return np.moveaxis(split, -1, 2).reshape(array.shape)[:, : shape[1]]


@pytest.mark.parametrize(
    ("layer", "nodes", "reads", "writes"),
    [
        (conv(32, 7), "c.Conv", 1, 1),
        (conv(20, 7), "c.Conv", 1, 1),
        (conv(3, 7), "c.Conv", 0, 1),
        (conv_group(32, 7, "BatchNormalization", "Add", "Relu"), "c.Conv", 2, 1),
        (single("Sigmoid", 13, (ODD_MAP,), (ODD_MAP,)), "Sigmoid", 1, 1),
        (to_odd_channels(), "c.Conv", 1, 1),
        (norm_then_conv(), "c.Conv c.Conv", 1, 1),
        (single("MaxPool", 12, (MAP,), (MAP,), kernel_shape=(1, 1)), "c.MaxPool", 1, 1),
        (single("GlobalAveragePool", 1, (MAP,), (SQUEEZED,)), "c.GlobalAveragePool", 1, 1),
        (single("Add", 14, (MAP, MAP), (MAP,)), "Add", 2, 1),
        (single("Sigmoid", 13, (MAP,), (MAP,)), "Sigmoid", 1, 1),
        (
            single("Transpose", 13, (MAP,), (TOKENS,), perm=(0, 2, 3, 1)),
            "c.ReorderOutput",
            1,
            0,
        ),
        (conv_to_tokens(), "c.Conv c.ReorderOutput", 1, 0),
    ],
    ids=lambda each: each.title() if isinstance(each, Layer) else str(each),
)
def test_what_reads_and_writes_blocks(layer: Layer, nodes: str, reads: int, writes: int) -> None:
    plain = layer_model(layer)
    found = blocked(plain)
    assert found is not None
    graph = found.model.proto.graph
    names = ["c." * (node.domain == DOMAIN) + node.op_type for node in graph.node]
    assert names == nodes.split()
    assert (len(found.reads), len(found.writes)) == (reads, writes)
    given = iter(plain.inputs.values())
    inputs = {
        info.name: in_blocks(array) if found.reads else array
        for info, array in zip(graph.input, given, strict=True)
    }
    assert {name: array.shape for name, array in inputs.items()} == {
        name: array.shape for name, array in found.model.inputs.items()
    }
    (expected,), (result,) = run(plain, plain.inputs), run(found.model, inputs)
    if found.writes:
        assert found.writes == (expected.shape,)
        result = channels_first(result, expected.shape)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "layer",
    [
        relu(64),
        gemm(1, 64, 64),
        conv(17, 7),  # More channels than a block has, and no multiple of four.
        single("Softmax", 13, (MAP,), (MAP,), axis=1),
        single("LRN", 13, (MAP,), (MAP,), size=5),
        single("Transpose", 13, (MAP,), (floats(1, 32, 5, 7),), perm=(0, 1, 3, 2)),
        single("Concat", 13, (floats(1, 12, 7, 5), MAP), (floats(1, 44, 7, 5),), axis=1),
    ],
    ids=Layer.title,
)
def test_what_needs_its_feature_maps_in_onnx_s_layout(layer: Layer) -> None:
    assert blocked(layer_model(layer)) is None


def test_where_elements_lie() -> None:
    assert block_size() in (8, 16)
    assert in_memory((2, 2 * block_size() + 4, 7, 5)) == (2, 3 * block_size(), 7, 5)
    assert moves((1, 32, 7, 5))
    assert moves((1, 20, 1, 1))
    assert not moves((1, 32, 1, 1))


def test_feature_maps_are_of_four_axes_and_float32() -> None:
    graph = layer_model(conv_group(32, 7, "Add")).proto.graph
    assert [*maps(graph.input).values()] == [(1, 32, 7, 7)] * 2
    assert maps(layer_model(gemm(1, 4, 4)).proto.graph.input) == {}
