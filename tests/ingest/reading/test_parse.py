"""Bytes become a model, or one line that says what is wrong with them."""

import re
import sys
import time
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import KEPT_ELEMENTS, STRIPPED_FROM_BYTES, opset_imports, parse
from tests.ingest.measuring import measure
from tests.ingest.onnx_text import content, extracted, kinds, proto

RELU = "g (float[2,3] x) => (y) { y = Relu(x) }"


def refusal(encoded: bytes, limits: Limits | None = None) -> str:
    """Why a model is refused: one line."""
    with pytest.raises(ModelError) as refused:
        extract(encoded, limits=limits)
    text = str(refused.value)
    assert "\n" not in text
    assert len(text) < 1000
    return text


@pytest.mark.parametrize("encoded", [b"", b"\x00", b"hello", b"PK\x03\x04", b"<html></html>"])
def test_what_is_no_model_is_refused(encoded: bytes) -> None:
    assert re.search("not an ONNX model: .*export", refusal(encoded))


def test_onnx_runtimes_own_format_is_named() -> None:
    assert "(.ort); give the .onnx file" in refusal(b"\x14\0\0\0ORTM\x0c\0" + bytes(100))


def test_a_model_without_a_graph_or_an_opset_is_refused() -> None:
    assert "no graph or no opset" in refusal(ModelProto(ir_version=10).SerializeToString())
    without = proto(RELU)
    del without.opset_import[:]
    assert "no graph or no opset" in refusal(without.SerializeToString())


def test_an_opset_newer_than_the_installed_onnx_is_refused() -> None:
    newest = onnx.defs.onnx_opset_version()
    assert extracted(RELU, newest).opset == newest
    why = refusal(content(RELU, newest + 1))
    assert f"opset {newest + 1}" in why
    assert "upgrade onnx, or export with a lower opset" in why


@pytest.mark.parametrize("version", [-1, 0, -(2**31), 2**40])
def test_an_opset_that_cannot_be_is_refused(version: int) -> None:
    model = proto(RELU)
    model.opset_import[0].version = version
    assert f"opset {version}" in refusal(model.SerializeToString())


@pytest.mark.parametrize("version", [-1, 0, -(2**31), 2**40])
def test_any_version_of_an_unknown_domain_is_as_unknown(version: int) -> None:
    model = proto("g (float[2,3] x) => (y) { y = com.example.Op(x) }", domains={"com.example": 1})
    model.opset_import[1].version = version
    (layer,) = extract(model.SerializeToString()).layers
    assert layer.kind == "skipped"
    assert "com.example::Op isn't known" in layer.reason


def test_both_names_of_the_standard_domain_are_one() -> None:
    model = proto(RELU)
    model.opset_import[0].domain = "ai.onnx"
    assert opset_imports(model) == {"": 21}
    found = extract(model.SerializeToString())
    model.graph.node[0].domain = "ai.onnx"
    assert extract(model.SerializeToString()).layers == found.layers
    assert kinds(found) == [("Relu", "compute")]


def test_functions_are_inlined() -> None:
    model = extracted(
        """g (float[2,3] x) => (y) { t = mine.Twice(x) y = mine.Twice(t) }
        <domain: "mine", opset_import: ["" : 21, "mine" : 1]>
        Twice (a) => (c) { b = mine.Once(a) c = mine.Once(b) }
        <domain: "mine", opset_import: ["" : 21, "mine" : 1]>
        Once (a) => (b) { b = Relu(a) }""",
        domains={"mine": 1},
    )
    assert kinds(model) == [("Relu", "compute")] * 4
    assert model.edges == ((0, 1), (1, 2), (2, 3))
    assert len({layer.name for layer in model.layers}) == 4


def test_a_function_of_another_opset_is_converted() -> None:
    """Axes were an attribute of Squeeze until opset 13."""
    model = extracted(
        """g (float[2,1,3] x) => (y) { y = mine.Flat(x) }
        <domain: "mine", opset_import: ["" : 11, "mine" : 1]>
        Flat (a) => (c) { b = Squeeze <axes = [1]> (a) c = Relu(b) }""",
        domains={"mine": 1},
    )
    assert [layer.op for layer in model.layers] == ["Squeeze", "Relu"]
    assert all(layer.layer is not None for layer in model.layers)


def test_a_function_of_another_opset_that_onnx_cannot_convert_is_inlined_if_it_means_the_same() -> (
    None
):
    """onnx gives up, as the type of `y` isn't declared."""
    model = extracted(
        """g (float[2,3] x) => (z) { y = mine.Half(x) z = Gelu(y) }
        <domain: "mine", opset_import: ["" : 14, "mine" : 1]>
        Half (a) => (b) { c = Constant <value_float: float = 0.5> () b = Mul(a, c) }""",
        domains={"mine": 1},
    )
    assert [layer.op for layer in model.layers] == ["Mul", "Gelu"]


def test_a_functions_attributes_come_from_its_caller() -> None:
    model = extracted(
        """g (float[2,3] x) => (y) { y = mine.Leaky <slope = 0.25> (x) }
        <domain: "mine", opset_import: ["" : 21]>
        Leaky <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }""",
        domains={"mine": 1},
    )
    (layer,) = model.layers
    assert {a.name: a.value for a in layer.attributes()} == {"alpha": 0.25}


def test_a_function_that_calls_itself_is_refused() -> None:
    text = """g (float[2] x) => (y) { y = mine.F(x) }
        <domain: "mine", opset_import: ["" : 21, "mine" : 1]>
        F (a) => (b) { b = mine.G(a) }
        <domain: "mine", opset_import: ["" : 21, "mine" : 1]>
        G (a) => (b) { b = mine.F(a) }"""
    assert "calls itself" in refusal(content(text, domains={"mine": 1}))


def doubling_functions(depth: int, times: int = 2) -> bytes:
    """Functions each of which calls the next one `times` times."""
    functions = []
    for level in range(depth):
        inner = f"mine.F{level + 1}" if level + 1 < depth else "Relu"
        calls = " ".join(f"v{i + 1} = {inner}(v{i})" for i in range(times))
        functions.append(
            '<domain: "mine", opset_import: ["" : 21, "mine" : 1]>\n'
            f"F{level} (v0) => (v{times}) {{ {calls} }}"
        )
    return content(
        "g (float[2] x) => (y) { y = mine.F0(x) }\n" + "\n".join(functions), domains={"mine": 1}
    )


def test_functions_that_grow_without_bounds_are_refused_before_they_grow() -> None:
    started = time.process_time()
    why = refusal(doubling_functions(60))
    assert f"{2**60:,} nodes, more than 200,000; raise BENANZA_MAX_NODES" in why
    assert time.process_time() - started < 5
    assert len(extract(doubling_functions(5)).layers) == 32


def test_functions_nested_too_deeply_are_refused() -> None:
    assert "nested too deeply" in refusal(doubling_functions(2000, times=1))


def test_nodes_are_limited() -> None:
    chain = " ".join(f"v{i + 1} = Relu(v{i})" for i in range(100))
    encoded = content(f"g (float[2] v0) => (v100) {{ {chain} }}")
    assert len(extract(encoded, limits=Limits(nodes=100)).layers) == 100
    why = refusal(encoded, Limits(nodes=99))
    assert why == "the model has 100 nodes, more than 99; raise BENANZA_MAX_NODES to take it on"


def test_nodes_of_bodies_count_against_the_limit() -> None:
    chain = " ".join(f"v{i + 1} = Relu(v{i})" for i in range(100))
    encoded = content(
        "g (bool c, float[2] v0) => (y) {"
        f" y = If (c) <then_branch = t () => (v100) {{ {chain} }},"
        " else_branch = e () => (v0) { v0 = Constant<value_floats = [1.0, 2.0]>() }> }"
    )
    assert "nodes, more than 50; raise BENANZA_MAX_NODES" in refusal(encoded, Limits(nodes=50))


def with_weight(**fields: Any) -> bytes:
    """A model with a weight that nobody has to load."""
    model = proto("g (float[2,3] x) => (y) { y = Add(x, w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    tensor.dims.extend(fields.get("dims", [3]))
    for key, value in fields.get("external", {}).items():
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    encoded: bytes = model.SerializeToString()
    return encoded


@pytest.mark.parametrize(
    "location",
    [
        "../secret",
        "weights/../../secret",
        "/etc/passwd",
        "C:\\secret",
        "C:secret",
        "\\\\server\\share\\secret",
        "\\secret",
        "weights\\..\\..\\secret",
    ],
)
def test_external_data_outside_the_models_folder_are_refused(location: str) -> None:
    why = refusal(with_weight(external={"location": location}))
    assert "outside the model's folder" in why
    assert "plain file name" in why


@pytest.mark.parametrize("location", ["weights.bin", "weights/all.bin", "a..b", "", "C.bin"])
def test_external_data_in_the_models_folder_are_not_opened(
    location: str, opened: list[str]
) -> None:
    encoded = with_weight(external={"location": location, "offset": "0", "length": "12"})
    opened.clear()
    found = extract(encoded)
    assert found.layers[0].parameters == 3
    assert opened == []


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened while a test runs, as Python's auditing tells."""
    return _Audit.listen()


class _Audit:
    """Listens to all openings of files; an audit hook can't be taken away again."""

    heard: list[str] = []  # noqa: RUF012  one list for the one hook of the process
    installed = False

    @classmethod
    def listen(cls) -> list[str]:
        if not cls.installed:
            sys.addaudithook(cls._hear)
            cls.installed = True
        cls.heard = []
        return cls.heard

    @classmethod
    def _hear(cls, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and not str(arguments[0]).endswith((".py", ".pyc")):
            cls.heard.append(str(arguments[0]))


def test_the_audit_hears_of_files(opened: list[str], tmp_path: Path) -> None:
    """So that silence means something in the tests above."""
    opened.clear()
    (tmp_path / "a file").write_text("x")
    assert opened == [str(tmp_path / "a file")]


def test_external_data_are_not_opened_even_where_they_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, opened: list[str]
) -> None:
    """Compiled code opens files unheard, so that the file holds what would give it away."""
    (tmp_path / "shape.bin").write_bytes((6).to_bytes(8, "little"))
    monkeypatch.chdir(tmp_path)
    opened.clear()
    model = proto("g (float[2,3] x) => (y) { y = Reshape(x, s) }")
    model.graph.initializer.add(
        name="s", data_type=TensorProto.INT64, dims=[1], data_location=TensorProto.EXTERNAL
    ).external_data.add(key="location", value="shape.bin")
    (layer,) = extract(model.SerializeToString()).layers
    assert opened == []
    assert layer.kind == "skipped", "its shape could only be known from the file"


@pytest.mark.parametrize("dims", [[2**60], [2**30, 2**30], [2**62, 2**62, 2**62], [2**41]])
def test_a_weight_that_is_too_large_is_refused(dims: list[int]) -> None:
    why = refusal(with_weight(dims=dims))
    assert "'w'" in why
    assert "raise BENANZA_MAX_TENSOR_ELEMENTS" in why


def test_a_weight_of_negative_size_is_refused() -> None:
    assert "negative dimension" in refusal(with_weight(dims=[-3]))


def test_a_tensor_of_a_hundred_thousand_axes_is_refused_at_once() -> None:
    """The product of their sizes alone would take minutes."""
    started = time.process_time()
    assert "axes" in refusal(with_weight(dims=[2**62] * 100_000))
    assert time.process_time() - started < 30


@pytest.mark.integration
@pytest.mark.parametrize(
    "text",
    [
        # The input, a value inside, and what a constant asks for.
        "g (float[1152921504606846976] x) => (y) { y = Relu(x) }",
        "g (float[1,1152921504606846976] x) => (y) { y = Relu(x) }",
        "g (float[1] x) => (y) <int64[1] s = {1152921504606846976}>"
        "{ t = Expand(x, s) y = Relu(t) }",
        "g (float[1] x) => (y) <int64[1] s = {1152921504606846976}>"
        "{ t = ConstantOfShape(s) y = Add(x, t) }",
        "g (float[4] x) => (y) <int64[1] s = {1152921504606846976}> { t = Tile(x, s) y = Relu(t) }",
        "g (float[1] x) => (y) <int64 a = {0}, int64 b = {1152921504606846976}, int64 d = {1}>"
        "{ t = Range(a, b, d) f = Cast<to=1>(t) y = Add(x, f) }",
        "g (float[4] x) => (y) <int64[2] s = {0, 1152921504606846976}>"
        "{ t = Pad(x, s) y = Relu(t) }",
        "g (float[1,1] x) => (y) { t = Conv<pads=[1152921504606846976, 0], kernel_shape=[1]>(x, x)"
        " y = Relu(t) }",
    ],
)
def test_a_tensor_of_2_to_60_elements_takes_no_time_and_no_memory(
    text: str, tmp_path: Path
) -> None:
    """It is refused, or the layer that has it is skipped."""
    taken = measure(content(text), tmp_path)
    assert taken.seconds < 5
    assert taken.bytes < 100_000_000
    assert re.search("elements; check|has shape|isn't known|batch size of 1", taken.said)


@pytest.mark.integration
def test_a_long_vector_takes_no_memory_of_its_size(tmp_path: Path) -> None:
    """onnx's own propagation of data takes a hundred bytes for each of its elements."""
    text = "g (float[200000000] x) => (y) { t = Add(x, x) y = Concat<axis=0>(t, t) }"
    assert kinds(extracted(text)) == [("Add", "compute"), ("Concat", "movement")]
    assert measure(content(text), tmp_path).bytes < 100_000_000


def test_the_data_of_weights_are_dropped_and_those_of_shapes_kept() -> None:
    """From a certain size of the file on; a small file can't hold much."""
    model = proto("g (float[2,3] x) => (y) { y = Reshape(x, s) }")
    elements = STRIPPED_FROM_BYTES // 4 + 1
    model.graph.initializer.extend(
        [
            helper.make_tensor("w", TensorProto.FLOAT, [elements], bytes(4 * elements), raw=True),
            helper.make_tensor("s", TensorProto.INT64, [1], [6]),
            helper.make_tensor(
                "k", TensorProto.FLOAT, [KEPT_ELEMENTS], bytes(4 * KEPT_ELEMENTS), raw=True
            ),
        ]
    )
    kept = {t.name: t for t in parse(model.SerializeToString(), Limits()).graph.initializer}
    assert kept["w"].ByteSize() < 100
    assert list(kept["w"].dims) == [elements]
    assert list(kept["s"].int64_data) == [6]
    assert len(kept["k"].raw_data) == 4 * KEPT_ELEMENTS


@pytest.mark.integration
def test_a_large_file_takes_little_memory_beside_itself(tmp_path: Path) -> None:
    """At most three times the file plus 100 MB."""
    model = proto("g (float[1000,5000] x) => (y) { t = MatMul(x, w) y = Relu(t) }")
    model.graph.initializer.append(
        helper.make_tensor("w", TensorProto.FLOAT, [5000, 5000], bytes(10**8), raw=True)
    )
    encoded = model.SerializeToString()
    assert extract(encoded).layers[0].parameters == 25_000_000
    assert measure(encoded, tmp_path).bytes < 2 * len(encoded) + 100_000_000


def damaged_text(position: int) -> bytes:
    """A model with a byte that is no UTF-8 in the n-th of its names."""
    encoded = bytearray(
        content(
            "g (float[2,NAME0] x) => (y) { [NAME1] NAME2 = NAME3.Op<NAME4=1>(x) y = Relu(NAME2) }",
            domains={"NAME3": 1},
        )
    )
    name = f"NAME{position}".encode()
    assert name in encoded
    return bytes(encoded).replace(name, b"NAME\xff")


@pytest.mark.parametrize("position", [0, 1, 2, 3])
def test_a_name_that_is_no_text_is_refused(position: int) -> None:
    assert "isn't UTF-8" in refusal(damaged_text(position))
