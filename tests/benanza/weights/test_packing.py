"""What is packed is what the file has, however it is written there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper, numpy_helper

from benanza.weights import counted_fields, packing
from benanza.weights.packing import PACKED_FROM_BYTES, Packed, pack
from benanza.weights.scanning import external_locations
from benanza_backbone.weights.packed import PackedError, PackedWriter, index_of
from benanza_ingest.errors import ModelError
from benanza_ingest.reading.download import Read
from benanza_ingest.reading.stream import Source
from tests.benanza.weights.models import WIDTH, model_of, product_model, saved, weight

TYPES = ("float32", "float16", "float64", "int8", "uint8", "int32", "int64", "bool", "bfloat16")


def packed(content: bytes, files: dict[str, bytes] | None = None) -> tuple[Packed, bytes]:
    """What comes of a model's file, and the bytes that were written."""
    out = BytesIO()

    @contextmanager
    def beside(locations: Sequence[str]) -> Iterator[Callable[[str], Read]]:
        assert set(locations) == set(files or {})
        yield lambda location: BytesIO((files or {})[location]).read

    writer = PackedWriter(out.write)
    found = pack(Source(BytesIO(content).read), beside, writer)
    writer.finish(found.weights, found.model, "0" * 64)
    return found, out.getvalue()


def array_of(name: str, content: bytes) -> Any:
    (found,) = [each for each in index_of(content).weights if each.name == name]
    kind = helper.tensor_dtype_to_np_dtype(found.onnx_type)
    return np.frombuffer(content[found.offset : found.offset + found.size], kind).reshape(
        found.dims
    )


@st.composite
def tensors(draw: st.DrawFn) -> list[TensorProto]:
    """Some tensors, large and small, as raw data and as numbers."""
    made = []
    for number in range(draw(st.integers(1, 5))):
        kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(_number(draw(st.sampled_from(TYPES)))))
        elements = draw(st.sampled_from([0, 1, 7, 20_000]))
        random = np.random.default_rng(draw(st.integers(0, 9)))
        array = random.integers(0, 2, elements).astype(kind)
        tensor = numpy_helper.from_array(array, f"w{number}")
        if kind == np.float32 and draw(st.booleans()):
            tensor = TensorProto(
                name=tensor.name, data_type=1, dims=[elements], float_data=array.tolist()
            )
        made.append(tensor)
    return made


def _number(name: str) -> int:
    return int(
        getattr(TensorProto, {"float32": "FLOAT", "float64": "DOUBLE"}.get(name, name.upper()))
    )


@given(tensors(), st.booleans())
@settings(max_examples=30)
def test_every_weight_is_there_bit_by_bit(given_tensors: list[TensorProto], outside: bool) -> None:
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], given_tensors)
    wanted = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    files = _beside(model) if outside else {}
    found, content = packed(model.SerializeToString(), files)
    left = ModelProto.FromString(found.model)
    onnx.checker.check_model(left)
    names = [each.name for each in index_of(content).weights]
    assert set(names) == {n for n, array in wanted.items() if array.nbytes >= PACKED_FROM_BYTES}
    for name, array in wanted.items():
        here = array_of(name, content) if name in names else weight(left, name)
        assert here.dtype == array.dtype
        assert here.tobytes() == array.tobytes()
        assert here.shape == array.shape
    assert {value.name for value in left.graph.input} == {"x", *names}
    assert all(each.offset % 64 == 0 for each in index_of(content).weights)


def _beside(model: ModelProto) -> dict[str, bytes]:
    """Takes the weights out, into files that are returned, in another order than the model's."""
    files: dict[str, bytearray] = {"one": bytearray(), "two": bytearray()}
    for number, tensor in reversed(list(enumerate(model.graph.initializer))):
        content = numpy_helper.to_array(tensor).tobytes()
        location = ("one", "two")[number % 2]
        place = {"location": location, "offset": len(files[location]), "length": len(content)}
        files[location] += content + b"between"
        model.graph.initializer[number].CopyFrom(
            external(tensor.name, tensor.data_type, tensor.dims, place)
        )
    return {name: bytes(content) for name, content in files.items() if content}


def external(name: str, kind: int, dims: Sequence[int], place: dict[str, Any]) -> TensorProto:
    made = TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in place.items():
        made.external_data.add(key=key, value=str(value))
    return made


def test_the_model_that_is_left_computes_the_same(tmp_path: Path) -> None:
    model = product_model()
    found, content = packed(saved(model, tmp_path / "m.onnx").read_bytes())
    x = np.ones((1, WIDTH), np.float32)
    (wanted,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    left = ort.InferenceSession(found.model)
    np.testing.assert_allclose(
        left.run(None, {"x": x, "a": array_of("a", content)})[0], wanted, 1e-4
    )


def test_weights_that_are_the_same_bytes_lie_there_once() -> None:
    matrix = np.ones((WIDTH, WIDTH), np.float32)
    place = {"location": "data", "offset": 0}
    given_tensors = [external(name, 1, [WIDTH, WIDTH], place) for name in "ab"]
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], given_tensors)
    found, content = packed(model.SerializeToString(), {"data": matrix.tobytes()})
    assert [each.offset for each in found.weights] == [0, 0]
    assert len(content) < 1.1 * matrix.nbytes
    assert (array_of("b", content) == matrix).all()


def test_what_is_smaller_than_a_byte_stays_in_the_model() -> None:
    tensor = helper.make_tensor("w", TensorProto.INT4, [60_000], bytes(30_000), raw=True)
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], [tensor])
    found, _ = packed(model.SerializeToString())
    assert found.weights == []
    assert ModelProto.FromString(found.model).graph.initializer[0].raw_data == bytes(30_000)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ({"location": "../secret"}, "outside the model's folder"),
        ({"location": "/etc/passwd"}, "outside the model's folder"),
        ({"location": "data", "length": 5}, "isn't of the size"),
        ({"location": "data", "offset": "-1"}, "isn't of the size"),
        ({"location": "data", "offset": 40_000}, "ends before weight 'w' does"),
    ],
)
def test_what_cannot_be_read_is_refused(place: dict[str, Any], reason: str) -> None:
    tensor = external("w", 1, [WIDTH, WIDTH], place)
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], [tensor])
    with pytest.raises(ModelError, match=reason):
        packed(model.SerializeToString(), {"data": bytes(4 * WIDTH * WIDTH)})


def test_what_nodes_have_beside_the_file_is_refused() -> None:
    value = external("v", 1, [WIDTH], {"location": "data"})
    model = model_of([helper.make_node("Constant", [], ["c"], value=value)], [])
    with pytest.raises(ModelError, match="in its attributes"):
        packed(model.SerializeToString())


@given(st.binary(max_size=200), st.data())
@settings(max_examples=25)
def test_damaged_files_are_refused_or_read(noise: bytes, data: st.DataObject) -> None:
    content = product_model().SerializeToString()
    start = data.draw(st.integers(0, len(content)))
    for damaged in (noise, content[:start], content[:start] + noise + content[start:]):
        try:
            found, _ = packed(damaged)
        except ModelError:
            continue
        ModelProto.FromString(found.model)


@pytest.mark.parametrize(
    "content",
    [
        bytes(300),
        b"\x3a\xac\x02" + b"\x2a\x00" * 150,
        b"\x3a\xaf\x02" + b"\x2a\xac\x02" + bytes(300),
    ],
    ids=["model", "graph", "initializer"],
)
def test_files_of_endless_fields_are_refused(
    content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_fields, "MAX_FIELDS", 100)
    for read in (packed, lambda given: external_locations(Source(BytesIO(given).read))):
        with pytest.raises(ModelError, match="more than 100 fields"):
            read(content)


def test_many_fields_that_are_not_the_data_take_no_longer_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All that came before was parsed at each of them."""
    parsed = []

    def fits(tensor: TensorProto, _: int) -> bool:
        parsed.append(tensor)
        return False

    monkeypatch.setattr(packing, "_fits", fits)
    parts, size = 20, PACKED_FROM_BYTES // 4
    fields = TensorProto(name="w", data_type=1, dims=[parts * size]).SerializeToString()
    fields += TensorProto(float_data=[1.0] * size).SerializeToString() * parts
    model = model_of([helper.make_node("Identity", ["x"], ["y"])], []).SerializeToString()
    found, _ = packed(model + field(7, field(5, fields)))
    (left,) = ModelProto.FromString(found.model).graph.initializer
    assert (numpy_helper.to_array(left) == np.ones(parts * size, np.float32)).all()
    assert len(parsed) == 1


def field(number: int, content: bytes) -> bytes:
    """As protobuf writes it."""
    head, size = bytearray([number << 3 | 2]), len(content)
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes([*head, size]) + content


def test_fields_without_content_count_as_bytes_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_INDEX_BYTES", 100)
    with pytest.raises(ModelError, match="more than 100 bytes besides"):
        packed(bytes(300))


def test_where_weights_lie_is_found_without_reading_them(tmp_path: Path) -> None:
    path = saved(product_model(), tmp_path / "m.onnx", external=True)
    assert external_locations(Source(BytesIO(path.read_bytes()).read)) == ("m.data",)
    content = product_model().SerializeToString()
    moved: list[int] = []
    file = BytesIO(content)

    def forward(size: int) -> None:
        moved.append(size)
        file.seek(size, 1)

    assert external_locations(Source(lambda most: file.read(min(most, 1000)), forward)) == ()
    assert sum(moved) > 0.9 * len(content)


@given(st.binary(max_size=100), st.binary(max_size=100))
@settings(max_examples=20)
def test_what_is_no_index_is_seen(begin: bytes, end: bytes) -> None:
    _, content = packed(product_model().SerializeToString())
    for wrong in (begin, content[:-1], content[:-16] + end, begin + content[-16:]):
        with pytest.raises(PackedError):
            index_of(wrong)
