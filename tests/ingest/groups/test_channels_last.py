"""Movement between feature maps and tokens that channels last make a view."""

import pytest

from benanza_ingest.groups.channels_last import RULE
from tests.ingest.groups.graph_rules import check_group
from tests.ingest.onnx_text import extracted

HEAD = (
    "g (float[2,16,5,6] x, float[2,30,16] t) => (y) <int64[3] flat = {{2, 16, 30}},"
    " int64[4] image = {{2, 16, 5, 6}}, int64[4] tokens = {{2, 5, 6, 16}},"
    " int64[4] heads = {{2, 4, 4, 30}}> {{ {} }}"
)


def groups(body: str) -> list[str]:
    model = extracted(HEAD.format(body), opset=23)
    found = [group for group in model.groups if group.rule == RULE]
    for group in found:
        check_group(model, group)
    return ["+".join(model.layers[at].op for at in group.layers) for group in found]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("r = Reshape(x, flat) s = Transpose<perm=[0,2,1]>(r) y = Relu(s)", ["Reshape+Transpose"]),
        ("r = Transpose<perm=[0,2,1]>(t) s = Reshape(r, image) y = Relu(s)",
         ["Transpose+Reshape"]),
        ("r = Reshape(x, flat) s = Transpose<perm=[0,2,1]>(r) u = Reshape(s, tokens) y = Relu(u)",
         ["Reshape+Transpose"]),
        # A layer alone is no group.
        ("y = Transpose<perm=[0,2,3,1]>(x)", []),
        ("r = Reshape(t, tokens) y = Transpose<perm=[0,3,1,2]>(r)", []),
        # What another layer reads as well has to be there.
        ("r = Reshape(x, flat) s = Transpose<perm=[0,2,1]>(r) u = Relu(s) v = Neg(r)"
         " y = MatMul(v, u)", []),
        # It moves, whatever the layout.
        ("r = Reshape(x, heads) s = Transpose<perm=[0,1,3,2]>(r) y = Relu(s)", []),
        ("r = Transpose<perm=[0,2,1]>(t) s = Reshape(r, tokens) y = Relu(s)", []),
    ],
)  # fmt: skip
def test_what_moves_nothing(body: str, wanted: list[str]) -> None:
    assert groups(body) == wanted


def test_it_takes_no_memory_to_find_out() -> None:
    huge = HEAD.replace("2,16,5,6] x", "2,16,50000,600000] x").replace(
        "{{2, 16, 30}}", "{{2, 16, 30000000000}}"
    )
    model = extracted(
        huge.format("r = Reshape(x, flat) s = Transpose<perm=[0,2,1]>(r) y = Relu(s)"), opset=23
    )
    assert [group.layers for group in model.groups if group.rule == RULE] == [(0, 1)]
