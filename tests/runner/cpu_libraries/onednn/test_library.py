"""oneDNN behind the port: layers of every kind that it knows, in each layout."""

from pathlib import Path

import pytest

from benanza_runner.cpu_libraries.check import given_as_known, why_wrong
from benanza_runner.cpu_libraries.cpu_library import Borders, CpuCandidate, CpuLibrary, CpuWork
from benanza_runner.cpu_libraries.onednn import binding
from benanza_runner.cuda.reference import reference
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.onnxruntime.blocked import LAYOUT as BLOCKED
from benanza_runner.onnxruntime.blocked import block_size, maps
from benanza_runner.onnxruntime.channels_last import LAYOUT as CHANNELS_LAST
from benanza_schemas.events import Variant
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer, Precision
from tests.runner.cpu_libraries.cpu_library_contract import CpuLibraryContract
from tests.runner.cuda.layers.more import layer as newest
from tests.runner.cuda.layers.samples import LAYERS
from tests.runner.layers import conv_group, floats, operator, single, weights

if reason := binding.why_unavailable():
    pytest.skip(reason, allow_module_level=True)

from benanza_runner.cpu_libraries.onednn.library import OneDnn

LIBRARY = OneDnn()

SAMPLES = {
    "conv": "convolution",
    "conv strided, asymmetric pads": "convolution",
    "conv in groups": "convolution",
    "conv dilated": "convolution",
    "conv of one axis": "convolution",
    "conv of three axes": "convolution",
    "conv + batch norm + relu": "convolution",
    "batch norm + conv": "convolution",
    "gemm": "inner product",
    "gemm + relu": "inner product",
    "gemm of a row": "matmul",
    "batched matmul": "matmul",
    "relu": "eltwise",
    "mul by channel": "binary",
    "add to the last axis": "binary",
    "chain": "binary",
    "max pool, asymmetric pads": "pooling",
    "average pool": "pooling",
    "average pool with pads": "pooling",
    "softmax before version 13": "softmax",
    "concat": "concat",
    "transpose": "reorder",
    "shuffle of channels": "reorder",
    "depth to space": "reorder",
    "slice": "reorder",
    "resize nearest half_pixel to 18": "resampling",
    "resize linear pytorch_half_pixel to 14": "resampling",
    "upsample": "resampling",
    "reduce Max over space": "pooling",
    "reduce Min over space": "reduction",
    "reduce Mean over space": "pooling",
    "reduce many": "reduction",
    "layer norm of two axes": "layer normalization",
    "layer norm with a computed scale": "layer normalization",
}
"""Layers by name, and the primitive that one of their candidates is."""

X = floats(2, 32, 6, 6)
CHANNELS = 32
PADDED = floats(2, 20, 6, 6)


def by_channel(op_type: str) -> Layer:
    return newest(op_type, (X, weights(CHANNELS, 1, 1)), X)


def added_and_bent() -> Layer:
    """The reverse of a difference, a product by channel, and HardSwish written out."""
    operators = (
        operator("Sub", 14, (1, 0), (3,)),
        operator("Mul", 14, (3, 2), (4,)),
        operator("HardSigmoid", 6, (4,), (5,), alpha=1 / 6, beta=0.5),
        operator("Mul", 14, (4, 5), (6,)),
    )
    tensors = (X, X, weights(CHANNELS, 1, 1), X, X, X, X)
    return canonical(Layer(tensors, operators, (6,)))


MAPS = {
    "convolution": conv_group(CHANNELS, 9, "BatchNormalization", "Add", "Relu"),
    "convolution of few channels": single(
        "Conv", 11, (floats(1, 3, 9, 9), weights(32, 3, 3, 3)), (floats(1, 32, 7, 7),)
    ),
    "convolution by channel": single(
        "Conv", 11, (X, weights(32, 1, 3, 3)), (floats(2, 32, 4, 4),), group=32
    ),
    "pooling": newest("MaxPool", (X,), floats(2, 32, 3, 3), kernel_shape=(2, 2), strides=(2, 2)),
    "lrn": newest("LRN", (X,), X, size=5),
    "binary by channel": by_channel("Mul"),
    "binary and more": added_and_bent(),
    "concat": newest("Concat", (X, X), floats(2, 64, 6, 6), axis=1),
    "pooling of all space": newest(
        "ReduceMean", (X,), floats(2, 32, 1, 1), opset=13, axes=(2, 3), keepdims=1
    ),
    "eltwise of a padded map": newest("HardSwish", (PADDED,), PADDED),
    "binary of a map and its gate": newest("Mul", (X, floats(2, 32, 1, 1)), X),
}
"""Layers with feature maps, whose names begin with that of their primitive."""


@pytest.fixture
def library() -> OneDnn:
    return LIBRARY


class TestOneDnn(CpuLibraryContract):
    @pytest.fixture
    def library(self) -> CpuLibrary:
        return LIBRARY


def offered(
    library: OneDnn, layer: Layer, precision: Precision = "fp32"
) -> list[CpuCandidate | Variant]:
    layer = retyped(layer, precision)
    return list(library.candidates(CpuWork(layer, layer_model(layer), precision, 1, Borders())))


def right(library: OneDnn, layer: Layer, precision: Precision = "fp32") -> list[CpuCandidate]:
    """The candidates, all of which compute the layer, time after time."""
    known = reference(retyped(layer, "fp32"), precision, threads=1)
    layer = retyped(layer, precision)
    model = given_as_known(layer_model(layer), known)
    reads, writes = (
        tuple(maps(infos).values()) for infos in (model.proto.graph.input, model.proto.graph.output)
    )
    work = CpuWork(layer, model, precision, 1, Borders("NCHW", reads, writes))
    candidates = [each for each in library.candidates(work) if isinstance(each, CpuCandidate)]
    for candidate in candidates:
        with candidate.open(3) as calls:
            calls.call()
            wrong = why_wrong(calls.results(), known.outputs, layer, precision)
            assert not wrong, (candidate.algorithm, candidate.borders.layout, wrong)
    return candidates


@pytest.mark.parametrize("name", list(SAMPLES))
def test_every_kind_of_layer(library: OneDnn, name: str) -> None:
    algorithms = [each.algorithm for each in right(library, LAYERS[name])]
    assert any(each.startswith(f"{SAMPLES[name]} ") for each in algorithms), algorithms


@pytest.mark.skipif(not block_size(), reason="ONNX Runtime has no blocks of channels here")
@pytest.mark.parametrize("layout", [BLOCKED, CHANNELS_LAST])
@pytest.mark.parametrize("name", list(MAPS))
def test_feature_maps_in_other_layouts(library: OneDnn, name: str, layout: str) -> None:
    found = [c for c in right(library, MAPS[name]) if c.borders.layout == layout]
    primitive, *_ = name.split()
    layer = MAPS[name]
    assert found
    written = layer.tensors[layer.outputs[0]].shape
    read = [layer.tensors[i].shape for i in layer.inputs() if not layer.tensors[i].constant]
    fewest = block_size() if layout == BLOCKED else 0
    for candidate in found:
        assert candidate.algorithm.startswith(f"{primitive} ")
        assert candidate.borders.writes == (written,)
        assert [*candidate.borders.reads] == [shape for shape in read if shape[1] >= fewest]


@pytest.mark.skipif(not block_size(), reason="ONNX Runtime has no blocks of channels here")
def test_small_groups_of_a_convolution_need_channels_last(library: OneDnn) -> None:
    """Eight channels a group fill no block of sixteen."""
    x, group = floats(1, 104, 9, 9), weights(104, 8, 3, 3)
    layer = single("Conv", 11, (x, group), (floats(1, 104, 7, 7),), group=13)
    found = {c.borders.layout: c.algorithm for c in right(library, layer)}
    assert "jit" in found[CHANNELS_LAST]


def test_what_follows_is_one_call(library: OneDnn) -> None:
    """Of activations that oneDNN doesn't have it says so."""
    x, kernels = floats(1, 16, 8, 8), weights(16, 16, 1, 1)
    for op_type, since, runs in (("Sigmoid", 13, True), ("Softsign", 1, False)):
        operators = (operator("Conv", 11, (0, 1), (2,)), operator(op_type, since, (2,), (3,)))
        first, *_ = offered(library, canonical(Layer((x, kernels, x, x), operators, (3,))))
        assert isinstance(first, CpuCandidate) is runs


def test_a_group_of_several_calls_is_refused(library: OneDnn) -> None:
    x = floats(4, 8)
    operators = (operator("Softmax", 13, (0,), (1,)), operator("Mul", 14, (0, 1), (2,)))
    (refused,) = offered(library, canonical(Layer((x, x, x), operators, (2,))))
    assert isinstance(refused, Variant)
    assert refused.failure == "oneDNN runs it as several calls"


def test_a_value_that_is_read_twice_is_no_chain(library: OneDnn) -> None:
    x = floats(4, 8)
    operators = (operator("Exp", 13, (0,), (1,)), operator("Add", 14, (0, 1), (2,)))
    tensors = (x, x, x, x)
    twice = operator("Mul", 14, (1, 2), (3,))
    (refused,) = offered(library, canonical(Layer(tensors, (*operators, twice), (3,))))
    assert isinstance(refused, Variant)


def test_its_threads_end_with_a_candidate(library: OneDnn) -> None:
    """They would spin beside another library's calls."""
    tasks = Path("/proc/self/task")
    layer = retyped(conv_group(64, 28, "Relu"), "fp32")
    *_, candidate = library.candidates(CpuWork(layer, layer_model(layer), "fp32", 2, Borders()))
    assert isinstance(candidate, CpuCandidate)
    before = {*tasks.iterdir()}
    with candidate.open(1) as calls:
        calls.call()
        assert len({*tasks.iterdir()} - before) == 1
    assert {*tasks.iterdir()} == before


def test_reference_code_is_left_out(library: OneDnn) -> None:
    layer = LAYERS["transposed conv"]
    assert {each.failure for each in offered(library, layer) if isinstance(each, Variant)} == {
        "oneDNN has only reference code for it in this layout"
    }


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_halves(library: OneDnn, precision: Precision) -> None:
    """With their own types, and what is added as float32. Some processors don't have them."""
    layers = (
        newest("Gemm", (floats(4, 24), weights(24, 16), weights(16)), floats(4, 16)),
        newest("Conv", (X, weights(8, 32, 3, 3), weights(8)), floats(2, 8, 4, 4), opset=22),
        newest("LayerNormalization", (X, weights(6), weights(6)), X),
        newest("Transpose", (X,), floats(6, 6, 32, 2)),
        newest("Gelu", (X,), X),
    )
    for layer in layers:
        for candidate in right(library, layer, precision):
            assert candidate.borders.layout != BLOCKED
