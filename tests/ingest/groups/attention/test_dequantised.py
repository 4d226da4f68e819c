"""Attention to what is kept in 8 bits is one group with what dequantises it."""

import pytest

from benanza_ingest.extracted import ExtractedGroup
from benanza_runner.onnx_layers.onnx_schemas import opsets
from tests.ingest.groups.attention.test_propose import titles
from tests.ingest.onnx_text import extracted

STEP = """g (float[2,8,1,64] q, float[2,2,1,64] k0, float[2,2,1,64] v0, TYPE[2,2,100,64] pk,
    TYPE[2,2,100,64] pv OTHER) => (float[2,8,1,64] y, TYPE[2,2,101,64] c, TYPE[2,2,101,64] d MORE)
    <float s = {0.02}, float[2] several = {0.02, 0.03} ZERO> {
    k = Neg(k0) v = Neg(v0) kq = QuantizeLinear<output_dtype=CODE>(k, s)
    vq = QuantizeLinear<output_dtype=CODE>(v, s)
    c = Concat<axis=2>(pk, kq) d = Concat<axis=2>(pv, vq)
    kd = DequantizeLinear<axis=1>(c, SCALEPOINT) vd = DequantizeLinear(d, sPOINT)
    y = Attention(q, kd, vd) END }"""

ATTENTION = "DequantizeLinear+DequantizeLinear+Attention"


def step(element: str = "int8", **changes: str) -> str:
    point = ", z" if element == "int8" else ""
    changes = {"SCALE": "s", "OTHER": "", "MORE": "", "END": "", **changes}
    changes |= {"TYPE": element, "POINT": changes.pop("POINT", point)}
    changes |= {"ZERO": ", int8 z = {0}" if element == "int8" else ""}
    changes |= {"CODE": "3" if element == "int8" else "17"}
    text = STEP
    for name, value in changes.items():
        text = text.replace(name, value)
    return text


@pytest.mark.parametrize("element", ["int8", "float8e4m3fn"])
def test_a_buffer_in_8_bits_is_read_as_it_is(element: str) -> None:
    found = extracted(step(element), 23)
    assert ATTENTION in titles(found)
    (group,) = (g for g in found.groups if g.rule == "attention")
    rows = 2 * 2 * 101 * 64
    assert group.bytes == pytest.approx(2 * rows + 2 * 4 * 2 * 8 * 64, abs=16)


@pytest.mark.parametrize(
    "changes",
    [
        {"SCALE": "several", "POINT": ""},
        {"END": "more = Neg(kd)", "MORE": ", float[2,2,101,64] more"},
        {"OTHER": ", float scale", "SCALE": "scale"},
    ],
)
def test_others_are_dequantised_before(changes: dict[str, str]) -> None:
    assert ATTENTION not in titles(extracted(step(**changes), 23))


WRITTEN_OUT = """g (float[2,8,1,64] q, int8[2,{heads},100,64] kc, int8[2,{heads},100,64] vc) => (y)
    <float s = {{0.02}}, int64[1] l2 = {{2}}, int64[5] shares = {{2, 2, 4, 100, 64}},
    int64[4] joined = {{2, 8, 100, 64}}> {{
    kd = DequantizeLinear(kc, s) vd = DequantizeLinear(vc, s) {repeated}
    kt = Transpose<perm=[0,1,3,2]>({key}) a = MatMul(q, kt) w = Softmax<axis=-1>(a)
    y = MatMul(w, {value}) }}"""

REPEATED = """k1 = Unsqueeze(kd, l2) k2 = Expand(k1, shares) k3 = Reshape(k2, joined)
    v1 = Unsqueeze(vd, l2) v2 = Expand(v1, shares) v3 = Reshape(v2, joined)"""


def of_codes(text: str, opset: int) -> list[ExtractedGroup]:
    return [
        group
        for group in extracted(text, opset).groups
        if [operator.op_type for operator in group.layer.operators].count("DequantizeLinear") == 2
    ]


@pytest.mark.parametrize("opset", [19, 21, 23, 24])
def test_one_opset_has_all_operators(opset: int) -> None:
    text = WRITTEN_OUT.format(heads=8, repeated="", key="kd", value="vd")
    (group,) = of_codes(text, opset)
    assert opsets(group.layer) == {"": 23}


def test_codes_that_heads_share_are_read_as_they_are() -> None:
    text = WRITTEN_OUT.format(heads=2, repeated=REPEATED, key="k3", value="v3")
    (group,) = of_codes(text, 21)
    (attention,) = (each for each in group.layer.operators if each.op_type == "Attention")
    assert attention.integer("kv_num_heads") == 0
    assert [group.layer.tensors[i].shape[1] for i in attention.inputs] == [8, 2, 2]
    assert group.bytes == pytest.approx(2 * 2 * 2 * 100 * 64 + 2 * 4 * 2 * 8 * 64, abs=16)


def test_of_codes_only_those_in_a_window_are_read() -> None:
    hides = ", ".join(["-inf"] * 96 + ["0"] * 4)
    text = WRITTEN_OUT.format(heads=8, repeated="", key="kd", value="vd")
    text = text.replace("<float s", f"<float[1,1,1,100] m = {{{hides}}}, float s")
    (group,) = of_codes(
        text.replace("Softmax<axis=-1>(a)", "Softmax<axis=-1>(b)").replace(
            "w = ", "b = Add(a, m) w = "
        ),
        21,
    )
    assert group.bytes == pytest.approx(2 * 2 * 8 * 4 * 64 + 2 * 4 * 2 * 8 * 64, abs=160)
