"""Attention to what is kept in 8 bits is one group with what dequantises it."""

import pytest

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
