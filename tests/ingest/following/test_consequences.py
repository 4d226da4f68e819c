"""Which places of the batch are left out because of the products that would follow."""

from collections.abc import Sequence

import pytest

from benanza_ingest.following.consequences import Consequences
from benanza_ingest.following.places import BatchPlace
from benanza_ingest.limits import Limits
from benanza_ingest.resolving.bind import bind
from benanza_ingest.resolving.resolve import resolve
from tests.ingest.onnx_text import proto

TOKENS, HEADS = BatchPlace(0, 1), BatchPlace(1, 2)
"""In `r`, which is tokens × heads × width: the batch joins either."""


def possible(
    body: str, name: str = "r", weights: str = "", places: Sequence[BatchPlace] = (TOKENS, HEADS)
) -> list[BatchPlace]:
    """Of these places, what is left for a value that is made from `x`, 5 × 1 × 8."""
    text = (
        f"g (float[5,1,8] x) => (y) <int64[3] s = {{5,2,4}}{weights}>"
        f"{{ r = Reshape(x, s) k = Reshape(x, s) {body} }}"
    )
    model = proto(text, domains={"com.example": 1})
    own = resolve(model, bind(model, None, {}), Limits())
    reached = {"x": BatchPlace(1, 1)}
    consequences = Consequences(own, 1, reached.get, reached.__contains__)
    return consequences.possible(name, places)


@pytest.mark.parametrize(
    ("body", "left"),
    [
        # Products of tokens, for each head.
        (
            "q = Transpose<perm=[1,0,2]>(r) t = Transpose<perm=[1,2,0]>(k) y = MatMul(q, t)",
            [HEADS],
        ),
        # Products of heads, for each token.
        ("t = Transpose<perm=[0,2,1]>(k) y = MatMul(r, t)", [TOKENS]),
        # The value is read in both operands.
        ("t = Transpose<perm=[0,2,1]>(r) y = MatMul(r, t)", [TOKENS]),
        # With views, constants and element-wise operators between.
        (
            "c = Add(r, b) e = Relu(c) q = Transpose<perm=[1,0,2]>(e) h = Reshape(q, u)"
            " m = Transpose<perm=[1,0,2]>(k) v = Reshape(m, u) t = Transpose<perm=[0,1,3,2]>(v)"
            " p = MatMul(h, t) o = Softmax(p) y = MatMul(o, v)",
            [HEADS],
        ),
        # An axis of size 1 that isn't the batch, though it comes first.
        (
            "q = Transpose<perm=[1,0,2]>(r) t = Transpose<perm=[1,2,0]>(k) a = Unsqueeze(t, z)"
            " y = MatMul(q, a)",
            [HEADS],
        ),
        # A sum of what holds the batch in different axes.
        ("c = Reshape(x, s) q = Transpose<perm=[0,2,1]>(k) m = MatMul(k, q) n = MatMul(m, c)"
         " y = Add(r, n)", [TOKENS]),
        # The heads may be of the next axis again.
        ("f = Reshape(r, i) y = Gemm(f, w)", [TOKENS, HEADS]),
        # These tell nothing.
        ("y = Relu(r)", [TOKENS, HEADS]),
        ("y = Add(r, k)", [TOKENS, HEADS]),
        ("y = MatMul(r, d)", [TOKENS, HEADS]),
        ("c = com.example.Foo(r) t = Transpose<perm=[0,2,1]>(k) y = MatMul(c, t)",
         [TOKENS, HEADS]),
    ],
)  # fmt: skip
def test_a_place_is_left_out_if_products_cannot_follow(body: str, left: list[BatchPlace]) -> None:
    weights = (
        ", float[4] b = {0,0,0,0}, int64[1] z = {0}, int64[4] u = {1,2,5,4}, int64[2] i = {5,8},"
        f" float[8,3] w = {{{','.join('0' * 24)}}}, float[4,3] d = {{{','.join('0' * 12)}}}"
    )
    assert possible(body, weights=weights) == left


@pytest.mark.parametrize("op_type", ["Gemm", "MatMul"])
def test_the_rows_of_a_weight_cannot_grow(op_type: str) -> None:
    weights = f", int64[2] i = {{5,8}}, float[8,3] w = {{{','.join('0' * 24)}}}"
    places = [BatchPlace(0, 1), BatchPlace(1, 8)]
    body = f"f = Reshape(x, i) y = {op_type}(f, w)"
    assert possible(body, "f", weights, places) == places[:1]


def test_a_constant_that_depends_on_shapes_may_hold_the_batch() -> None:
    places = [BatchPlace(0, 1), BatchPlace(1, 8)]
    weights = ", int64[2] i = {5,8}, float o = {0}"
    shaped = "f = Reshape(x, i) z = Shape(f) n = Expand(o, z) t = Transpose(n) y = MatMul(f, t)"
    fixed = "f = Reshape(x, i) n = Expand(o, i) t = Transpose(n) y = MatMul(f, t)"
    assert possible(shaped, "f", weights, places) == places
    assert possible(fixed, "f", weights, places) == places[:1]


def test_what_is_not_in_the_graph_has_no_consequences() -> None:
    assert possible("y = Relu(r)", name="elsewhere") == [TOKENS, HEADS]
