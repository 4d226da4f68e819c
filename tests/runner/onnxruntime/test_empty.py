"""Layers with axes of length 0 are measured where ONNX Runtime runs them."""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_ingest.extract import extract
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.layer import Layer
from tests.examples import examples
from tests.ingest.empty_graphs import random_graph
from tests.runner.layers import floats, single

FULL, EMPTY = floats(1, 16, 4, 8), floats(1, 16, 0, 8)


@pytest.fixture(scope="module")
def runtime() -> OnnxRuntime:
    return OnnxRuntime(threads=1, libraries=())


def layers_reading_nothing(seed: int) -> Iterator[Layer]:
    """The layers of a random graph that are benchmarked and have an input without elements."""
    made = random_graph(seed)
    for extracted in extract(made.content, dims=made.dims).layers:
        layer = extracted.layer
        if layer is not None and extracted.kind != "view":
            tensors = [layer.tensors[index] for index in layer.inputs()]
            if any(0 in tensor.shape for tensor in tensors):
                yield layer


@pytest.mark.integration
@pytest.mark.parametrize(
    "layer",
    [
        single("Concat", 13, (FULL, EMPTY), (FULL,), axis=2),
        single("Conv", 11, (floats(2, 0, 4, 3), floats(16, 0, 1, 1)), (floats(2, 16, 4, 3),)),
        single("ReduceSum", 13, (EMPTY,), (floats(1, 1, 1, 1),)),
    ],
)
def test_feature_maps_without_elements_are_in_no_layout(runtime: OnnxRuntime, layer: Layer) -> None:
    outcome = runtime.measure(layer, "fp32")
    assert not outcome.failure
    assert any(not variant.failure for variant in outcome.variants)


@pytest.mark.integration
@examples(0.05)
@given(st.integers(0, 2**32))
def test_what_onnx_runtime_runs_is_measured(runtime: OnnxRuntime, seed: int) -> None:
    for layer in layers_reading_nothing(seed):
        outcome = runtime.measure(layer, "fp32")
        assert not outcome.failure, layer.title()
        assert any(not variant.failure for variant in outcome.variants)


@examples(0.2)
@given(st.integers(0, 2**32))
def test_a_gpu_runs_it_or_says_why_not(seed: int) -> None:
    for layer in layers_reading_nothing(seed):
        values = reference(layer, "fp32", 1).values
        with suppress(UnsupportedError):
            assert all(array.size for array in lower(layer, values).operands.values())
