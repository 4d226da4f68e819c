"""What is taken out of an encoded model, and that all else stays."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper

from benanza_ingest.errors import ModelError
from benanza_ingest.reading.strip import MAX_FIELDS, MAX_KEPT_BYTES, strip
from tests.ingest.onnx_text import proto

EXPORTED = sorted((Path(__file__).parents[2] / "data" / "exported").glob("*.onnx.gz"))
EVERYTHING = 2**62


def stripped(model: ModelProto, kept_bytes: int) -> ModelProto:
    return ModelProto.FromString(strip(model.SerializeToString(), kept_bytes))


def large(name: str = "w", bytes_each: int = 1000) -> TensorProto:
    return helper.make_tensor(
        name, TensorProto.UINT8, [bytes_each], bytes(range(250)) * (bytes_each // 250), raw=True
    )


def with_weight(weight: TensorProto) -> ModelProto:
    model = proto("g (float[2,3] x) => (y) { y = Relu(x) }")
    model.graph.initializer.append(weight)
    return model


@pytest.mark.parametrize("file", EXPORTED[::5], ids=lambda file: file.name)
def test_of_a_real_model_nothing_goes_but_documentation(file: Path) -> None:
    model = ModelProto.FromString(gzip.decompress(file.read_bytes()))
    expected = ModelProto()
    expected.CopyFrom(model)
    clear_documentation(expected)
    assert clear_documentation(stripped(model, EVERYTHING)) == expected


def clear_documentation(message: Message) -> Message:
    """As protobuf's own interface does it."""
    for field, value in message.ListFields():
        if field.name in ("doc_string", "metadata_props"):
            message.ClearField(field.name)
        elif field.message_type is not None:
            for inner in [value] if isinstance(value, Message) else value:
                clear_documentation(inner)
    return message


@pytest.mark.parametrize(
    "weight",
    [
        large(),
        helper.make_tensor("w", TensorProto.FLOAT, [300], [1.5] * 300),
        helper.make_tensor("w", TensorProto.INT32, [900], [1] * 900),
        helper.make_tensor("w", TensorProto.INT64, [900], [1] * 900),
        helper.make_tensor("w", TensorProto.UINT64, [900], [1] * 900),
        helper.make_tensor("w", TensorProto.DOUBLE, [300], [1.5] * 300),
        TensorProto(name="w", data_type=TensorProto.STRING, dims=[300], string_data=[b"ab"] * 300),
    ],
    ids=lambda weight: TensorProto.DataType.Name(weight.data_type),
)
def test_a_large_tensor_loses_its_data_and_nothing_else(weight: TensorProto) -> None:
    (left,) = stripped(with_weight(weight), 500).graph.initializer
    assert left == TensorProto(
        name="w",
        dims=weight.dims,
        data_type=weight.data_type,
        data_location=TensorProto.EXTERNAL,
    )
    (whole,) = stripped(with_weight(weight), EVERYTHING).graph.initializer
    assert whole == weight


def in_attribute(graph: GraphProto) -> None:
    graph.node[0].attribute.append(helper.make_attribute("value", large()))


def in_list_of_tensors(graph: GraphProto) -> None:
    attribute = AttributeProto(name="values", type=AttributeProto.TENSORS)
    attribute.tensors.extend([large("a"), large("b")])
    graph.node[0].attribute.append(attribute)


def in_body(graph: GraphProto) -> None:
    body = GraphProto(name="body", initializer=[large()])
    graph.node[0].attribute.append(helper.make_attribute("body", body))


def in_sparse_weight(graph: GraphProto) -> None:
    graph.sparse_initializer.add(values=large("s"), indices=large("i"), dims=[10_000])


@pytest.mark.parametrize("put", [in_attribute, in_list_of_tensors, in_body, in_sparse_weight])
@pytest.mark.parametrize("in_function", [False, True])
def test_large_tensors_are_found_wherever_they_are(
    put: Callable[[GraphProto], None], in_function: bool
) -> None:
    model = proto("g (float[2,3] x) => (y) { y = Relu(x) }")
    put(model.graph)
    if in_function:
        model.functions.add(name="f", domain="d", node=model.graph.node)
        del model.graph.node[:]
    assert model.ByteSize() > 1000
    left = strip(model.SerializeToString(), 500)
    assert len(left) < 250
    assert ModelProto.FromString(left).SerializeToString() == left


def test_documentation_goes_and_what_follows_it_stays() -> None:
    model = proto("g (float[2,3] x) => (y) { y = Relu(x) }")
    model.doc_string = model.graph.doc_string = model.graph.node[0].doc_string = "text " * 100
    model.graph.node[0].metadata_props.add(key="stack_trace", value="line " * 100)
    model.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.5, doc_string="x" * 999))
    assert model.ByteSize() > 2000
    expected = proto("g (float[2,3] x) => (y) { y = Relu<alpha = 0.5>(x) }")
    assert stripped(model, EVERYTHING) == expected


def test_together_tensors_keep_no_more_than_so_much() -> None:
    """However many there are: the data of the smallest stay, as those that decide shapes are."""
    count = MAX_KEPT_BYTES // 100_000 + 50
    model = proto("g (float[2,3] x) => (y) { y = Relu(x) }")
    model.graph.initializer.extend(large(f"w{i}", 100_000) for i in range(count))
    model.graph.initializer.append(helper.make_tensor("shape", TensorProto.INT64, [2], [3, -1]))
    left = stripped(model, EVERYTHING)
    assert sum(len(t.raw_data) for t in left.graph.initializer) > MAX_KEPT_BYTES - 100_000
    assert left.ByteSize() < MAX_KEPT_BYTES + 100 * count
    assert list(left.graph.initializer[-1].int64_data) == [3, -1]


@pytest.mark.slow
def test_too_many_fields_are_refused() -> None:
    model = proto("g (float[2,3] x) => (y) { y = Relu(x) }")
    model.graph.node[0].attribute.append(helper.make_attribute("ints", [1] * (MAX_FIELDS + 1)))
    with pytest.raises(ModelError, match="2,000,000 fields; if an attribute of a node"):
        strip(model.SerializeToString(), EVERYTHING)


@pytest.mark.parametrize(
    ("encoded", "why"),
    [
        (b"\x3a\xff\x01", "longer than its message"),  # a graph of 255 bytes
        (b"\x3a", "cut off"),
        (b"\x3a" + b"\xff" * 20, "cut off"),  # a length of twenty bytes
        (b"\x3b", "wire type 3"),
        (b"\x09\x00", "longer than its message"),  # 64 bits, of which there are 8
        (b"\x0d\x00", "longer than its message"),
    ],
)
def test_what_is_not_protobuf_is_refused(encoded: bytes, why: str) -> None:
    with pytest.raises(DecodeError, match=why):
        strip(encoded, EVERYTHING)


def too_deep() -> bytes:
    """A graph with a node with an attribute with a graph, and so on."""
    nested = bytes(300)
    for tag in (*(b"\x32", b"\x2a", b"\x0a") * 40, b"\x3a"):
        size = len(nested)
        nested = tag + bytes([size & 0x7F | 0x80, size >> 7]) + nested
    return nested


def test_messages_that_lie_too_deep_are_refused() -> None:
    with pytest.raises(DecodeError, match="too deep"):
        strip(too_deep(), EVERYTHING)


@given(st.binary(max_size=400), st.integers(0, 300))
def test_any_bytes_are_either_refused_or_read_as_before(tail: bytes, kept_bytes: int) -> None:
    encoded = with_weight(large()).SerializeToString() + tail
    try:
        left = strip(encoded, kept_bytes)
        model = ModelProto.FromString(encoded)
    except DecodeError:
        return
    assert len(left) < len(encoded)
    assert ModelProto.FromString(left).graph.node == model.graph.node


@given(st.data())
def test_a_file_cut_off_anywhere_is_refused(data: st.DataObject) -> None:
    encoded = with_weight(large()).SerializeToString()
    start_of_graph = encoded.index(b"\x3a")
    cut = data.draw(st.integers(start_of_graph + 1, len(encoded) - 20))
    with pytest.raises(DecodeError):
        strip(encoded[:cut], EVERYTHING)
