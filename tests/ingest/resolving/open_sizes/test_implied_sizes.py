"""Open dimensions that the graph leaves no choice of."""

import pytest

from tests.ingest.onnx_text import extracted, shapes

GROUPED = "com.microsoft.GroupQueryAttention"
OWN = {"com.microsoft": 1}
CACHES = "float[1,2,past,width] k, float[1,2,past,width] v, int32[1] count"
KEPT = "float[1,2,total,width] nk, float[1,2,total,width] nv"
ATTENDED = (
    f"(float[1,1,128] q, {CACHES}, float[1,total] mask) => (y, {KEPT}, float[1,total] z)"
    " <int32 all = {8}> { z = Relu(mask)"
    f" y, nk, nv = {GROUPED}<num_heads=4, kv_num_heads=2>(q, , , k, v, count, all) }}"
)


def test_a_cache_has_rows_as_long_as_heads_and_its_results_say_how_many_there_are() -> None:
    found = extracted(f"g {ATTENDED}", 21, OWN, dims={"past": 7})
    assert {layer.reason for layer in found.layers} == {""}
    relu, attention = found.layers
    assert shapes(relu)[0] == (1, 8)
    assert (1, 2, 8, 16) in shapes(attention)
    assert found.dims == {"past": 7}


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("(float[2,K] x, float[6,3] w) => (y) { y = MatMul(x, w) }", (2, 3)),
        ("(float[2,K] x, float[3,6] w) => (y) { y = Gemm<transB=1>(x, w) }", (2, 3)),
        ("(float[2,C,5,5] x, float[4,3,1,1] w) => (y) { y = Conv<group=2>(x, w) }", (2, 4, 5, 5)),
        ("(float[2,7,K] x, float[2,1,6] z) => (y) { y = Concat<axis=1>(x, z) }", (2, 8, 6)),
    ],
)
def test_what_is_read_beside_others_has_their_sizes(text: str, output: tuple[int, ...]) -> None:
    (layer,) = extracted(f"g {text}").layers
    assert output in shapes(layer)


def test_a_name_of_which_two_sizes_follow_stays_open() -> None:
    text = (
        "(float[2,K] x, float[2,K] z, float[6,3] w, float[5,3] v) => (y, u)"
        " { y = MatMul(x, w) u = MatMul(z, v) }"
    )
    assert all("--dim K=N" in layer.reason for layer in extracted(f"g {text}").layers)
