"""An element needs one row of each reduction, whatever lies between."""

import pytest

from benanza_ingest.groups.regions.flow import RowsError, rows_after
from benanza_ingest.groups.regions.fusible import fusible
from benanza_ingest.groups.regions.rows import Rows, rows_of, unknown
from tests.ingest.onnx_text import extracted, only_layer

ROWS = rows_of((2, 6, 8), frozenset((2,)))
OTHER = rows_of((2, 6, 8), frozenset((1,)))
HEAD = (
    "g (float[2,6,8] x, float[2,6,8] z, float[2,1,8] flat, float[8] s, int64[2,6,3] each,"
    " int64[2,3,8] fewer) => (y)"
    ' <float[8] k = ["location": "w"], int64[1] last = {{-1}}, int64[1] middle = {{1}},'
    " int64[1] one = {{1}}, int64[1] five = {{5}}, int64[2] pair = {{0, 1}}, int64 zero = {{0}},"
    " int64[4] heads = {{2, 6, 2, 4}}, int64[2] cut = {{24, 4}}, int64[2] bad = {{16, 6}},"
    " int64[3] times = {{1, 1, 3}}, int64[6] pads = {{0, 0, 1, 0, 0, 1}}> {{ {} }}"
)


def after(body: str, *given: Rows | None) -> tuple[Rows | None, ...]:
    alone = only_layer(HEAD.format(body), opset=23)
    found = fusible(alone)
    assert found is not None
    assert alone.layer is not None
    return rows_after(alone.layer, found, given, 7)


@pytest.mark.parametrize(
    ("body", "shape", "inner"),
    [
        ("y = Neg(x)", (2, 6, 8), {2}),
        ("y = Mul(x, s)", (2, 6, 8), {2}),
        ("y = Transpose<perm = [2, 0, 1]>(x)", (8, 2, 6), {0}),
        ("y = Reshape(x, heads)", (2, 6, 2, 4), {2, 3}),
        ("y = Slice(x, one, five, last)", (2, 6, 4), {2}),
        ("y = Gather<axis = 2>(x, pair)", (2, 6, 2), {2}),
        ("y = GatherElements<axis = 2>(x, each)", (2, 6, 3), {2}),
        ("y = Concat<axis = 2>(x, z)", (2, 6, 16), {2}),
        ("y = Trilu(x)", (2, 6, 8), {2}),
    ],
)
def test_what_keeps_rows(body: str, shape: tuple[int, ...], inner: set[int]) -> None:
    assert after(body, ROWS) == (rows_of(shape, frozenset(inner)),)


@pytest.mark.parametrize(
    "body",
    [
        "y = Slice(x, one, five, middle)",
        "y = Slice(x, one, five)",  # the first axis
        "y = Gather<axis = 1>(x, pair)",
        "y = Gather<axis = 1>(x, zero)",
        "y = Concat<axis = 1>(x, z)",
        "y = Reshape(x, bad)",
        "y = Tile(x, times)",
        "y = Pad(x, pads)",
    ],
)
def test_what_loses_them(body: str) -> None:
    assert after(body, ROWS) == (unknown((7, 0)),)


def test_two_results_have_rows_of_their_own() -> None:
    text = "a, b = Split<axis = 1, num_outputs = 2>(x) y = Concat<axis = 1>(a, b)"
    layer = extracted(HEAD.format(text), opset=23).layers[0]
    found = fusible(layer)
    assert found is not None
    assert layer.layer is not None
    assert rows_after(layer.layer, found, (ROWS,), 7) == (unknown((7, 0)), unknown((7, 1)))


def test_values_with_the_same_rows_are_combined() -> None:
    assert after("y = Add(x, z)", ROWS, ROWS) == (ROWS,)
    assert after("y = Add(x, z)", None, ROWS) == (ROWS,)
    assert after("y = Add(x, z)", unknown((1, 0)), unknown((1, 0))) == (unknown((1, 0)),)
    assert after("y = Add(x, flat)", OTHER, (*OTHER[:1], (), *OTHER[2:])) == (OTHER,)


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("y = Add(x, z)", (ROWS, OTHER)),
        ("y = Add(x, z)", (ROWS, unknown((1, 0)))),
        ("y = Add(x, z)", (unknown((1, 0)), unknown((2, 0)))),
        ("y = Add(x, flat)", (unknown((1, 0)), unknown((2, 0)))),
        ("y = Softmax(x)", (OTHER,)),
        ("y = Softmax(x)", (unknown((1, 0)),)),
        ("y = LayerNormalization(x, s)", (None, rows_of((8,), frozenset()))),
        ("y = CastLike(x, s)", (ROWS, rows_of((8,), frozenset()))),
        ("y = GatherElements<axis = 2>(x, each)", (None, ROWS)),  # computed indices
        ("y = GatherElements<axis = 1>(x, fewer)", (ROWS,)),  # of another row for each element
        ("y = GatherElements<axis = 2>(x, fewer)", (ROWS,)),
        ("y = GatherElements<axis = 2>(x, each)", (unknown((1, 0)),)),
    ],
)
def test_what_needs_several_rows(body: str, given: tuple[Rows | None, ...]) -> None:
    with pytest.raises(RowsError):
        after(body, *given)


def test_a_reduction_of_the_same_rows_goes_on() -> None:
    assert after("y = Softmax(x)", ROWS) == (ROWS,)
    assert after("y = Softmax(x)", None) == (ROWS,)
    assert after("y = ReduceMax(x, last)", ROWS) == (rows_of((2, 6, 1), frozenset((2,))),)


def test_without_a_reduction_there_are_no_rows() -> None:
    assert after("y = Concat<axis = 1>(x, z)", None, None) == (None,)
