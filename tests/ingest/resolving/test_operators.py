"""Attributes in one form, and which operators have definitions."""

import onnx
import pytest

from benanza_ingest.resolving.operators import schema
from benanza_schemas.layer import TensorValue
from tests.ingest.onnx_text import only_layer

NEWEST = onnx.defs.onnx_opset_version()


def attributes(text: str, opset: int = 21) -> dict[str, object]:
    return {a.name: a.value for a in only_layer(text, opset).attributes()}


def test_attributes_left_out_stand_with_their_defaults() -> None:
    short = only_layer("g (float[2,3] x) => (y) { y = LeakyRelu(x) }")
    long = only_layer("g (float[2,3] x) => (y) { y = LeakyRelu<alpha=0.01>(x) }")
    assert short.fingerprint == long.fingerprint
    assert [a.name for a in short.attributes()] == ["alpha"]


def test_attributes_are_sorted_whatever_their_order_in_the_file() -> None:
    one = only_layer(
        "g (float[2,3] a, float[3,2] b) => (y) { y = Gemm<alpha=2.0, beta=3.0>(a, b) }"
    )
    other = only_layer(
        "g (float[2,3] a, float[3,2] b) => (y) { y = Gemm<beta=3.0, alpha=2.0>(a, b) }"
    )
    assert one.layer == other.layer
    names = [a.name for a in one.attributes()]
    assert names == sorted(names)


CONVOLUTION = "g (float[1,2,8,8] x, float[4,2,3,3] w) => (y) {{ y = Conv{}(x, w) }}"

SAME_CONVOLUTIONS = {
    "as short as can be": "",
    "kernel": "<kernel_shape=[3,3]>",
    "strides": "<strides=[1,1]>",
    "everything": "<kernel_shape=[3,3], strides=[1,1], dilations=[1,1], pads=[0,0,0,0], group=1>",
    "no automatic pads": '<auto_pad="NOTSET">',
    "valid": '<auto_pad="VALID">',
}


def test_a_convolution_written_in_several_ways_is_one_layer() -> None:
    """Missing strides are 1, and not 0 as in the published code."""
    layers = [only_layer(CONVOLUTION.format(way)) for way in SAME_CONVOLUTIONS.values()]
    assert len({layer.fingerprint for layer in layers}) == 1
    assert attributes(CONVOLUTION.format("")) == {
        "auto_pad": "NOTSET",
        "dilations": (1, 1),
        "group": 1,
        "kernel_shape": (3, 3),
        "pads": (0, 0, 0, 0),
        "strides": (1, 1),
    }


OTHER_CONVOLUTIONS = {
    "padding of one": "<pads=[1,1,1,1]>",
    "asymmetric padding": "<pads=[0,1,0,1]>",
    "the other way round": "<pads=[1,0,1,0]>",
    "same": '<auto_pad="SAME_UPPER">',
    "strides": "<strides=[2,2]>",
    "dilations": "<dilations=[2,2]>",
}


def test_padding_of_nothing_is_not_a_wild_card() -> None:
    """In the published code, 0 and -1 in a look-up matched anything, and the fastest won."""
    plain = only_layer(CONVOLUTION.format(""))
    others = {what: only_layer(CONVOLUTION.format(way)) for what, way in OTHER_CONVOLUTIONS.items()}
    fingerprints = {what: layer.fingerprint for what, layer in others.items()}
    assert plain.fingerprint not in fingerprints.values()
    same = fingerprints.pop("same")
    assert same == fingerprints["padding of one"], "which is what it stands for here"
    assert len(set(fingerprints.values())) == len(fingerprints)


def test_asymmetric_pads_are_read_as_begins_then_ends() -> None:
    """The published code misread them."""
    layer = only_layer(CONVOLUTION.format("<pads=[0,1,2,3]>"))
    assert layer.layer is not None
    assert layer.layer.tensors[-1].shape == (1, 4, 8 + 0 + 2 - 2, 8 + 1 + 3 - 2)


@pytest.mark.parametrize(
    ("size", "stride", "kernel", "pads"),
    [
        # Sizes by hand: out = ceil(size / stride), pad = (out - 1) * stride + kernel - size.
        (8, 1, 3, (1, 1)),
        (8, 2, 3, (0, 1)),
        (7, 2, 3, (1, 1)),
        (8, 2, 2, (0, 0)),
        (7, 3, 5, (2, 2)),
        (8, 3, 5, (1, 2)),
        (5, 5, 1, (0, 0)),
    ],
)
def test_automatic_pads_are_those_of_onnxs_formula(
    size: int, stride: int, kernel: int, pads: tuple[int, int]
) -> None:
    def pads_of(auto_pad: str) -> object:
        return attributes(
            f"g (float[1,1,{size}] x, float[1,1,{kernel}] w) => (y)"
            f'{{ y = Conv<auto_pad="{auto_pad}", strides=[{stride}]>(x, w) }}'
        )["pads"]

    assert pads_of("SAME_UPPER") == pads
    assert pads_of("SAME_LOWER") == (pads[1], pads[0])


def test_poolings_have_their_windows_spelled_out_too() -> None:
    short = only_layer("g (float[1,1,8,8] x) => (y) { y = MaxPool<kernel_shape=[2,2]>(x) }")
    long = only_layer(
        "g (float[1,1,8,8] x) => (y) { y = MaxPool<kernel_shape=[2,2], strides=[1,1],"
        ' pads=[0,0,0,0], dilations=[1,1], auto_pad="VALID", ceil_mode=0, storage_order=0>(x) }'
    )
    assert short.fingerprint == long.fingerprint


@pytest.mark.parametrize("opset", [7, 10, 11, 18, 19, 21, 22])
@pytest.mark.parametrize("op_type", ["AveragePool", "MaxPool", "LpPool"])
def test_no_attribute_is_filled_in_that_this_version_lacks(op_type: str, opset: int) -> None:
    """An attribute too many makes a model that no runtime loads."""
    layer = only_layer(
        f"g (float[1,1,8,8] x) => (y) {{ y = {op_type}<kernel_shape=[2,2]>(x) }}", opset
    )
    assert layer.layer is not None
    version = layer.layer.operators[0].version
    known = set(onnx.defs.get_schema(op_type, version, "").attributes)
    assert {a.name for a in layer.attributes()} <= known


def test_a_tensor_in_an_attribute_is_kept_with_its_elements() -> None:
    found = attributes(
        "g (int64[1] n) => (float[3] y) { y = ConstantOfShape<value = float[1] {1.5}>(n) }"
    )
    assert found == {"value": TensorValue("float32", (1,), b"\x00\x00\xc0\x3f")}


def test_text_that_is_no_utf8_is_kept_as_bytes() -> None:
    from benanza_ingest.extract import extract
    from tests.ingest.onnx_text import proto

    model = proto('g (float[2,3] x) => (y) { y = Gelu<approximate = "none">(x) }')
    model.graph.node[0].attribute[0].s = b"\xff\xfe"
    (layer,) = extract(model.SerializeToString()).layers
    assert layer.attributes()[0].value == TensorValue("string", (), b"\xff\xfe")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("g (float[2,3] x) => (y) { y = Transpose<perm=[1,0]>(x) }", {"perm": (1, 0)}),
        ("g (float[2,3] x) => (y) { y = ReduceL2<keepdims=0>(x) }",
         {"keepdims": 0, "noop_with_empty_axes": 0}),
        ('g (float[2,3] x) => (y) { y = Einsum<equation="ij->ji">(x) }', {"equation": "ij->ji"}),
        ("g (float[2,3] x) => (y) { y = Elu(x) }", {"alpha": 1.0}),
    ],
)  # fmt: skip
def test_attributes_of_each_type(text: str, expected: dict[str, object]) -> None:
    found = attributes(text)
    assert found == expected
    assert [type(value) for value in found.values()] == [type(v) for v in expected.values()]


def test_an_operator_that_onnx_does_not_know_has_no_definition() -> None:
    assert schema("Relu", "", NEWEST) is not None
    assert schema("Gelu", "", 13) is None
    assert schema("Magic", "com.example", 1) is None
    assert schema("Relu", "", None) is None
    assert schema("Relu", "", 2**40) is None
