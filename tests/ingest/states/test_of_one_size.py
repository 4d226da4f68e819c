"""States of one size, which are read and written wholly: there is nothing to keep in place."""

import pytest

from benanza_ingest.extracted import ExtractedModel
from benanza_schemas.vocabulary import STATE_AS_WRITTEN
from tests.ingest import onnx_text
from tests.runner.cuda.layers.states import DELTA, SELECTIVE

STATE = 2 * 4 * 16 * 32 * 4
"""Bytes of the state of the gated delta rule."""


def extracted(graph: str) -> ExtractedModel:
    return onnx_text.extracted(graph, 27, {"com.microsoft": 1})


def regions(found: ExtractedModel) -> dict[tuple[int, ...], int]:
    """The bytes of each region by its layers."""
    return {group.layers: group.bytes for group in found.groups if group.rule == "region"}


@pytest.mark.parametrize("domain", ["", "com.microsoft."])
def test_an_operator_reads_and_writes_its_state_once(domain: str) -> None:
    found = extracted(f"""g (float[2,1,64] q, float[2,1,64] k, float[2,1,128] v,
        float[2,4,16,32] s, float[2,1,4] d, float[2,1,4] b) => (y, n) {{ y, n =
        {domain}LinearAttention <q_num_heads = 4, kv_num_heads = 4> (q, k, v, s, d, b) }}""")
    (layer,) = found.layers
    assert layer.bytes == 2 * STATE + 4 * 2 * (64 + 64 + 128 + 4 + 4 + 128)
    assert not layer.reason
    assert not [group for group in found.groups if group.rule == STATE_AS_WRITTEN]


def test_the_gated_delta_rule_written_out_is_one_region() -> None:
    found = extracted(DELTA)
    whole = max(regions(found), key=len)
    computing = [at for at, layer in enumerate(found.layers) if layer.kind != "view"]
    assert set(computing) <= set(whole)
    axes = 3 * 8
    assert regions(found)[whole] == 2 * STATE + 4 * 2 * 4 * (16 + 16 + 32 + 1 + 1 + 32) + axes


@pytest.mark.parametrize(
    "read",
    [
        "c4 = Unsqueeze(c, rows) r = Mul(n, c4) y = ReduceSum<keepdims=0>(r, last)",
        "c4 = Expand(c3, like) col = Unsqueeze(c4, last) m = MatMul(n, col) y = Squeeze(m, last)",
    ],
)
def test_what_reads_a_new_state_computes_it(read: str) -> None:
    """Whether the product with it is a sum or is a product of matrices with one column each."""
    shape = "c3 = Unsqueeze(c, one) like = Constant<value_ints=[2,4,16]>()"
    found = extracted(SELECTIVE.replace("READ", f"{shape} {read}"))
    (last,) = (at for at, each in enumerate(found.layers) if each.op in ("MatMul", "ReduceSum"))
    (state,) = (at for at, each in enumerate(found.layers) if each.op == "Add")
    assert any({state, last} <= set(layers) for layers in regions(found))


def test_a_product_that_only_reads_a_matrix_is_a_librarys() -> None:
    """Keys that are kept, and a query."""
    found = extracted(
        "g (float[2,4,100,16] k, float[2,4,16,1] q, float[2,4,100,1] m) => (y)"
        " { s = MatMul(k, q) t = Add(s, m) y = Exp(t) }"
    )
    assert not any(0 in layers for layers in regions(found))
