"""OpenVINO behind the port."""

import os

import pytest

pytest.importorskip("openvino")

from benanza_runner.cpu_libraries.check import why_wrong
from benanza_runner.cpu_libraries.cpu_library import Borders, CpuCandidate, CpuLibrary, CpuWork
from benanza_runner.cpu_libraries.openvino.library import (
    MOST_RESULT_BYTES,
    PRECISION_HINTS,
    OpenVino,
)
from benanza_runner.cuda.reference import reference
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.events import Variant
from benanza_schemas.layer import Layer, Precision, Tensor
from tests.runner.cpu_libraries.cpu_library_contract import CpuLibraryContract
from tests.runner.layers import conv, conv_group, floats, operator, relu, single, weights

LIBRARY = OpenVino()

LONGS = Tensor("int64", (6, 4))


@pytest.fixture
def library() -> OpenVino:
    return LIBRARY


class TestOpenVino(CpuLibraryContract):
    @pytest.fixture
    def library(self) -> CpuLibrary:
        return LIBRARY


def offered(library: OpenVino, layer: Layer, precision: Precision = "fp32") -> object:
    typed = retyped(layer, precision)
    (one,) = library.candidates(CpuWork(typed, layer_model(typed), precision, 1, Borders()))
    return one


def test_a_group_is_one_call(library: OpenVino) -> None:
    candidate = offered(library, conv_group(32, 14, "BatchNormalization", "Add", "Relu"))
    assert isinstance(candidate, CpuCandidate)
    assert candidate.algorithm.startswith("Convolution ")
    assert "+" not in candidate.algorithm


def test_a_group_of_several_calls_is_refused(library: OpenVino) -> None:
    """OpenVINO fuses nothing with a pooling before a convolution."""
    x, kernels = floats(1, 8, 8, 8), weights(8, 8, 1, 1)
    pooling = operator("MaxPool", 12, (0,), (2,), kernel_shape=(3, 3), pads=(1,) * 4)
    convolution = operator("Conv", 11, (2, 1), (3,), kernel_shape=(1, 1))
    refused = offered(library, Layer((x, kernels, x, x), (pooling, convolution), (3,)))
    assert isinstance(refused, Variant)
    assert refused.failure.startswith("OpenVINO runs it as 2 calls: Pooling ")


def test_an_operator_that_it_does_not_know_has_a_reason(library: OpenVino) -> None:
    x = floats(4, 4)
    refused = offered(library, single("Unheard", 1, (x,), (x,), domain="com.microsoft"))
    assert isinstance(refused, Variant)
    assert "Unheard" in refused.failure
    assert ".cpp" not in refused.failure


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_it_reads_and_writes_16_bits(library: OpenVino, precision: Precision) -> None:
    layer = single("MatMul", 13, (floats(8, 64), weights(64, 32)), (floats(8, 32),))
    known = reference(layer, precision, threads=1)
    candidate = offered(library, layer, precision)
    if isinstance(candidate, Variant):
        assert candidate.failure.startswith("OpenVINO computes in ")
        pytest.skip(candidate.failure)
    assert isinstance(candidate, CpuCandidate)
    with candidate.open(1) as calls:
        calls.call()
        results = calls.results()
    assert {array.dtype.itemsize for array in results.values()} == {2}
    assert not why_wrong(results, known.outputs, layer, precision)


def test_it_reads_a_single_number(library: OpenVino) -> None:
    x = floats(4, 4)
    layer = single("Mul", 14, (x, floats()), (x,))
    known = reference(layer, "fp32", threads=1)
    candidate = offered(library, layer)
    assert isinstance(candidate, CpuCandidate)
    with candidate.open(1) as calls:
        calls.call()
        assert not why_wrong(calls.results(), known.outputs, layer, "fp32")


@pytest.mark.parametrize(
    ("layer", "taken"),
    [
        (single("Add", 14, (LONGS, LONGS), (LONGS,)), False),
        (single("Cast", 13, (LONGS,), (floats(6, 4),), to=1), False),
        (single("Gather", 13, (floats(90, 4), LONGS), (floats(6, 4, 4),)), True),
        (single("ArgMax", 13, (floats(6, 4),), (Tensor("int64", (6, 1)),), axis=1), True),
    ],
    ids=lambda value: value.title() if isinstance(value, Layer) else str(value),
)
def test_large_integers_are_left_to_others(library: OpenVino, layer: Layer, taken: bool) -> None:
    """It adds 2^33 and 1 to 1."""
    candidate = offered(library, layer)
    assert isinstance(candidate, CpuCandidate) == taken
    if isinstance(candidate, Variant):
        assert candidate.failure.startswith("OpenVINO computes int64 in 32 bits")


def test_what_is_computed_in_another_type_is_refused(
    library: OpenVino, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRECISION_HINTS, "float32", "f16")
    refused = offered(library, conv(16, 14))
    assert isinstance(refused, Variant)
    assert refused.failure == "OpenVINO computes in float16 here, and not in float32"


def test_results_of_all_copies_stay_in_the_first_caches(library: OpenVino) -> None:
    small, large = (offered(library, relu(count)) for count in (100, MOST_RESULT_BYTES))
    assert isinstance(small, CpuCandidate)
    assert isinstance(large, CpuCandidate)
    assert (small.most_copies > 1, large.most_copies) == (True, 1)


def test_threads_that_others_start_may_use_all_processors(library: OpenVino) -> None:
    """Bound to a processor, this thread would leave those of ONNX Runtime on the same one."""
    before = os.sched_getaffinity(0)
    candidate = offered(library, conv(16, 14))
    assert isinstance(candidate, CpuCandidate)
    with candidate.open(2) as calls:
        calls.call()
    assert os.sched_getaffinity(0) == before
