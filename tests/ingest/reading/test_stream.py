"""A model that is read from a stream is stripped as one in memory."""

import gzip
import io
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from onnx import GraphProto, ModelProto, TensorProto, helper

from benanza_ingest.reading import stream
from benanza_ingest.reading.stream import Source, strip_stream
from benanza_ingest.reading.strip import strip, within
from tests.ingest.reading.test_strip import (
    EVERYTHING,
    EXPORTED,
    clear_documentation,
    in_attribute,
    in_body,
    in_list_of_tensors,
    in_sparse_weight,
    large,
    too_deep,
    with_weight,
)


def streamed(encoded: bytes, kept_bytes: int, at_once: int, chunk: int = 1 << 20) -> ModelProto:
    """With messages of up to `at_once` bytes read whole, and so many bytes read at a time."""
    file = io.BytesIO(encoded)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stream, "AT_ONCE_BYTES", at_once)
        patched.setattr(stream, "CHUNK_BYTES", chunk)
        return ModelProto.FromString(strip_stream(Source(file.read), kept_bytes))


def in_memory(encoded: bytes, kept_bytes: int) -> ModelProto:
    return ModelProto.FromString(strip(encoded, kept_bytes))


@pytest.mark.parametrize("at_once", [0, 5_000, 1 << 20])
@pytest.mark.parametrize("file", EXPORTED[::7], ids=lambda file: file.name)
def test_a_real_model_is_as_in_memory(file: Path, at_once: int) -> None:
    encoded = gzip.decompress(file.read_bytes())
    found = clear_documentation(streamed(encoded, 1 << 16, at_once))
    assert found == clear_documentation(in_memory(encoded, 1 << 16))


@pytest.mark.parametrize("put", [in_attribute, in_list_of_tensors, in_body, in_sparse_weight])
@pytest.mark.parametrize("at_once", [0, 300, 1 << 20])
@pytest.mark.parametrize("kept_bytes", [500, EVERYTHING])
def test_large_tensors_are_found_wherever_they_are(
    put: Callable[[GraphProto], None], at_once: int, kept_bytes: int
) -> None:
    model = with_weight(large())
    put(model.graph)
    encoded = model.SerializeToString()
    assert streamed(encoded, kept_bytes, at_once) == in_memory(encoded, kept_bytes)


@given(
    st.sampled_from([TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.INT32]),
    st.integers(0, 400),
    st.integers(0, 2_000),
    st.integers(0, 3_000),
    st.integers(1, 70),
)
def test_any_weight_is_as_in_memory(
    kind: int, size: int, kept_bytes: int, at_once: int, chunk: int
) -> None:
    weight = helper.make_tensor("w", kind, [size], [1] * size)
    encoded = with_weight(weight).SerializeToString()
    assert streamed(encoded, kept_bytes, at_once, chunk) == in_memory(encoded, kept_bytes)


def test_what_may_name_the_origin_of_a_model_stays() -> None:
    model = with_weight(large())
    model.metadata_props.add(key="model", value="levit")
    model.graph.doc_string = "text " * 500
    left = streamed(model.SerializeToString(), 500, at_once=0)
    assert left.metadata_props == model.metadata_props
    assert not left.graph.doc_string


@given(st.binary(max_size=400), st.integers(0, 300), st.sampled_from([0, 200, 1 << 20]))
def test_any_bytes_are_refused_or_read_as_in_memory(
    tail: bytes, kept_bytes: int, at_once: int
) -> None:
    encoded = with_weight(large()).SerializeToString() + tail
    try:
        expected = in_memory(encoded, kept_bytes)
    except DecodeError:
        return  # What is not read in memory, such as a training graph, may be wrong in a stream.
    found = streamed(encoded, kept_bytes, at_once)
    for each in (found, expected):
        clear_documentation(each)
        each.DiscardUnknownFields()  # A kept field may be of another type than it should be.
    assert found == expected


@given(st.data())
def test_a_file_cut_off_anywhere_is_refused(data: st.DataObject) -> None:
    encoded = with_weight(large()).SerializeToString()
    cut = data.draw(st.integers(encoded.index(b"\x3a") + 1, len(encoded) - 20))
    with pytest.raises(DecodeError):
        streamed(encoded[:cut], EVERYTHING, at_once=0)


def test_messages_that_lie_too_deep_are_refused() -> None:
    with pytest.raises(DecodeError, match="too deep"):
        streamed(too_deep(), EVERYTHING, at_once=0)


@pytest.mark.parametrize(
    ("encoded", "why"),
    [
        (b"\x3a\xff\x01", "longer than its message"),
        (b"\x3a", "longer than its message"),
        (b"\x3a" + b"\xff" * 20, "cut off"),
        (b"\x3b", "wire type 3"),
        (b"\x09\x00", "longer than its message"),
    ],
)
def test_what_is_not_protobuf_is_refused(encoded: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        streamed(encoded, EVERYTHING, at_once=0)


def unpacked(numbers: int) -> bytes:
    """A model with a weight whose numbers stand one by one, each with a tag of its own."""
    weight = TensorProto(name="w", data_type=TensorProto.INT64, dims=[numbers])
    encoded = weight.SerializeToString() + b"\x38\x05" * numbers  # int64_data
    graph = b"".join(within(5, [encoded]))
    return with_weight(large()).SerializeToString() + b"".join(within(7, [graph]))


@pytest.mark.parametrize("numbers", [10, 400])
@pytest.mark.parametrize("at_once", [0, 1 << 20])
def test_numbers_that_are_not_packed_count(numbers: int, at_once: int) -> None:
    encoded = unpacked(numbers)
    found = streamed(encoded, 300, at_once)
    assert found == in_memory(encoded, 300)
    kept = next(each for each in found.graph.initializer if each.dims == [numbers])
    assert bool(kept.int64_data) == (numbers == 10)


@pytest.mark.parametrize(
    ("count", "bytes_each"), [(300, 100_000), (30, 1_000_000), (20, 2_000_000)]
)
def test_memory_is_that_of_what_is_read_at_a_time(count: int, bytes_each: int) -> None:
    """However large the weights are together, and each of them."""
    model = with_weight(large())
    model.graph.initializer.extend(large(f"w{i}", bytes_each) for i in range(count))
    file = io.BytesIO(model.SerializeToString())
    tracemalloc.start()
    try:
        left = strip_stream(Source(file.read), 1 << 16)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(left) < 100_000
    assert peak < 8_000_000


def test_many_small_fields_take_little_memory() -> None:
    encoded = b"\x08\x08" * 200_000
    tracemalloc.start()
    try:
        strip_stream(Source(io.BytesIO(encoded).read), 1 << 16)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(encoded)
