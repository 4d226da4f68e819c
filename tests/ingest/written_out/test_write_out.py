"""What operators are written out as computes what they do."""

import numpy as np
import onnx
import onnxruntime
import pytest

from benanza_ingest.extract import extract
from tests.ingest import onnx_text
from tests.ingest.onnx_text import content
from tests.ingest.test_program import Values, as_program, blocks_of, run

DOMAINS = {"com.microsoft": 1}

QUANTISED = ["DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul", "Add"]

MASKING = ["Cast", "Reshape", "Where", "Add"]

WRITTEN = {
    "y/constant": np.zeros((), np.float32),
    "y/constant'": np.array(-10000, np.float32),
}
"""Constants that are written where a mask is: what is added to scores."""


def weights(**shapes: tuple[int, ...]) -> str:
    """Bytes and floats as initializers, by name and shape."""
    draw, texts = np.random.default_rng(1), []
    for name, shape in shapes.items():
        kind = "uint8" if name.startswith("u") else "int8" if name.startswith("i") else "float"
        low = 0 if kind == "uint8" else -9
        numbers = draw.integers(low, 9, int(np.prod(shape))) / (8 if kind == "float" else 1)
        listed = ", ".join(f"{number:g}" for number in numbers)
        texts.append(f"{kind}[{','.join(map(str, shape))}] {name} = {{{listed}}}")
    return ", ".join(texts)


@pytest.mark.parametrize(
    ("text", "operators"),
    [
        (
            "(float[2,5,8] x) => (float[2,5,6] y)"
            f" <{weights(i=(8, 6), s=(1,), i0=(1,), b=(6,))}>"
            " { y = com.microsoft.DynamicQuantizeMatMul(x, i, s, i0, b) }",
            QUANTISED,
        ),
        (
            "(float[5,8] x) => (float[5,6] y)"
            f" <{weights(u=(8, 6), s=(6,), u0=(6,))}>"
            " { y = com.microsoft.DynamicQuantizeMatMul(x, u, s, u0) }",
            QUANTISED[:-1],
        ),
        (
            "(uint8[5,8] x, float s, uint8 p) => (float[5,6] y)"
            f" <{weights(i=(8, 6), t=(6,), b=(6,))}>"
            " { y = com.microsoft.MatMulIntegerToFloat(x, i, s, t, p, , b) }",
            QUANTISED[1:],
        ),
        (
            "(uint8[2,5,8] x, uint8[2,8,6] z) => (uint8[2,5,6] y)"
            " <float s = {0.5}, uint8 p = {3}, float t = {9}, uint8 q = {90}>"
            " { y = QLinearMatMul(x, s, p, z, s, p, t, q) }",
            ["DequantizeLinear", "DequantizeLinear", "MatMul", "QuantizeLinear"],
        ),
        (
            "(float[2,3,8] x, float[1,2,3,3] z)"
            " => (float[2,3,8] y) <int32[2,3] m = {1,1,0,1,0,0}>"
            " { y = com.microsoft.MultiHeadAttention<num_heads=2>(x, x, x, , m, z) }",
            [*MASKING, "MultiHeadAttention"],
        ),
        (
            "(float[2,3,8] x, float[2,1,3,3] z) => (float[2,3,8] y)"
            f" <{weights(w=(8, 24), b=(24,))}, int32[2,3] m = {{1,1,0,1,0,0}}>"
            " { y = com.microsoft.Attention"
            "<num_heads=2>(x, w, b, m, , z) }",
            [*MASKING, "Attention"],
        ),
        (
            "(float[2,3,4] x, float[4,5] z) => (float[2,3,5] y)"
            ' { y = Einsum<equation="...i,ij->...j">(x, z) }',
            ["Einsum"],
        ),
        (
            "(float[2,3,4] x, float[4,5] z, float[5,9] v) => (float[2,3,9] y)"
            ' { y = Einsum<equation="bai,ij,jk->bak">(x, z, v) }',
            ["Einsum"] * 2,
        ),
        (
            "(float[2,3,4] x, float[2,4,5] z, float[2,5] v) => (float[3,2,5] y)"
            ' { y = Einsum<equation="...ai,...ij,...j->a...j">(x, z, v) }',
            ["Einsum"] * 2,
        ),
    ],
)
def test_it_computes_the_same(text: str, operators: list[str]) -> None:
    whole = content(f"g {text}", 21, DOMAINS)
    model = onnx.load_model_from_string(whole)
    values: Values = {w.name: onnx.numpy_helper.to_array(w) for w in model.graph.initializer}
    random, given = np.random.default_rng(2), {}
    for value in model.graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [size.dim_value for size in value.type.tensor_type.shape.dim]
        drawn = random.standard_normal(shape) * (40 if kind == np.uint8 else 1)
        given[value.name] = np.asarray(np.abs(drawn) if kind == np.uint8 else drawn, kind)
    values |= given | WRITTEN
    (expected,) = onnxruntime.InferenceSession(whole).run(None, given)
    found = extract(whole)
    assert [layer.op for layer in found.layers] == operators
    for step in as_program(whole, blocks_of(found, fused=False)).steps:
        values |= run(step, values)
    np.testing.assert_allclose(values["y"], expected, rtol=1e-4, atol=1e-5)


def test_a_convolution_with_channels_last_is_onnx_s_between_two_views() -> None:
    found = onnx_text.extracted(
        "g (float[2,9,8,4] x) => (float[2,5,4,6] y)"
        f" <{weights(w=(6, 2, 3, 3), b=(6,))}>"
        " { y = com.microsoft.NhwcConv<group=2, strides=[2,2], pads=[1,1,1,1]>(x, w, b) }",
        21,
        DOMAINS,
    )
    assert [layer.op for layer in found.layers] == ["Transpose", "Conv", "Transpose"]
    shapes = [
        layer.layer.tensors[layer.layer.outputs[0]].shape for layer in found.layers if layer.layer
    ]
    assert shapes == [(2, 4, 9, 8), (2, 6, 5, 4), (2, 5, 4, 6)]
    assert {layer.reason for layer in found.layers} == {""}


def test_a_bias_of_what_is_new_is_added_before_former_keys_and_values() -> None:
    found = onnx_text.extracted(
        "g (float[2,1,32] q, float[2,1,32] k, float[2,1,32] v, float[2,4,5,8] pk,"
        " float[2,4,5,8] pv) => (y, float[2,4,6,8] nk, float[2,4,6,8] nv)"
        f" <{weights(b=(96,))}> {{ y, nk, nv = com.microsoft.MultiHeadAttention"
        "<num_heads=4>(q, k, v, b, , , pk, pv) }",
        21,
        DOMAINS,
    )
    added, kept = ["Add"] * 3, ["Identity"] * 2
    assert [layer.op for layer in found.layers] == [*added, *kept, "MultiHeadAttention"]
    assert {layer.reason for layer in found.layers} == {""}


def test_attention_without_a_bias_of_its_product_gets_one_of_zeros() -> None:
    (layer,) = onnx_text.extracted(
        f"g (float[2,3,8] x) => (float[2,3,8] y) <{weights(w=(8, 24))}>"
        " { y = com.microsoft.Attention<num_heads=2>(x, w) }",
        21,
        DOMAINS,
    ).layers
    assert onnx_text.shapes(layer)[:3] == [(2, 3, 8), (8, 24), (24,)]


@pytest.mark.parametrize("packed", [True, False])
def test_norms_of_queries_and_keys_stand_before_their_attention(packed: bool) -> None:
    operator, heads = "com.microsoft.GroupQueryAttention", "num_heads=4, kv_num_heads=2"
    inputs = "float[2,1,32] q, float[2,1,16] k, float[2,1,16] v"
    read = "q, k, v"
    if packed:
        inputs, read = "float[2,1,64] q", "q, , "
    found = onnx_text.extracted(
        f"g ({inputs}, float[2,2,5,8] pk, float[2,2,5,8] pv, int32[2] n)"
        " => (y, float[2,2,6,8] nk, float[2,2,6,8] nv)"
        f" <{weights(a=(8,), b=(8,))}, int32 all = {{6}}>"
        f" {{ y, nk, nv = {operator}<{heads}, qk_norm_epsilon=0.5>"
        f"({read}, pk, pv, n, all, , , , , , , , a, b) }}",
        21,
        DOMAINS,
    )
    assert {layer.reason for layer in found.layers} == {""}
    norms = [layer for layer in found.layers if layer.op == "SimplifiedLayerNormalization"]
    assert [layer.attribute("epsilon") for layer in norms] == [0.5, 0.5]
    made = [layer.layer.tensors[layer.layer.outputs[0]].shape for layer in norms if layer.layer]
    assert made == [(2, 1, 4, 8), (2, 1, 2, 8)]
    (attention,) = [layer for layer in found.layers if layer.op == "GroupQueryAttention"]
    assert attention.layer is not None
    assert len(attention.layer.operators[0].inputs) == 7
    assert (found.layers[0].op == "Split") is packed


@pytest.mark.parametrize(
    "text",
    [
        '(float[2,3,3] x, float[3,5] z) => (y) { y = Einsum<equation="bii,ij->bj">(x, z) }',
        "(float[1,3,4] x, float[2,4,5] z) => (y)"
        ' { y = Einsum<equation="...ai,...ij->...aj">(x, z) }',
        "(float[2,9,8,4] x) => (y)"
        f" <{weights(w=(6, 3, 3, 4))}> {{ y = com.microsoft.NhwcConv(x, w) }}",
        "(uint8[5,8] x, float[5] s) => (y)"
        f" <{weights(i=(8, 6), t=(6,))}> {{ y = com.microsoft.MatMulIntegerToFloat(x, i, s, t) }}",
    ],
)
def test_what_cannot_be_said_with_others_stays_as_it_is(text: str) -> None:
    (layer,) = onnx_text.extracted(f"g {text}", 21, DOMAINS).layers
    assert layer.op in text
