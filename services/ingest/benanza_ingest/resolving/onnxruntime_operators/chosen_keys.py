"""Results of attention to keys that stand in pages or in a row, or are chosen for each query.

In the comments, B is the batch, S the length of the query, and T the number of all tokens where
sequences of different lengths stand in a row.
"""

from benanza_ingest.resolving.onnxruntime_operators.own_node import (
    OwnNode,
    Rule,
    Shape,
    divided,
)


def in_a_row(node: OwnNode) -> list[Shape]:
    """Values [T, width], which with the query may be packed into [T, heads, 3, depth]."""
    query = node.shape(0)
    return [node.shape(2) if node.has(2) else (query[0], query[1] * query[3])]


def paged(node: OwnNode) -> list[Shape]:
    """Keys and values are kept in pages, in the same memory. Without keys, all are in the query."""
    value_depth = node.number("v_head_size") or _depth(node)
    output = (node.shape(0)[0], node.number("num_heads") * value_depth)
    return [output, *(node.shape(position) for position in (3, 4) if node.has(position))]


def sparse(node: OwnNode) -> list[Shape]:
    """Of few keys for each query [B, S, width]; all are kept."""
    output = (*node.shape(0)[:2], node.number("num_heads") * _depth(node))
    return [output, node.shape(3), node.shape(4)] if node.has(3) else [output]


def _depth(node: OwnNode) -> int:
    heads, of_keys = node.number("num_heads"), node.number("kv_num_heads")
    return divided(node.shape(0)[-1], heads if node.has(1) else heads + 2 * of_keys)


def chosen(node: OwnNode) -> list[Shape]:
    """Which keys each query attends to, and what is kept of the keys."""
    query, before, ratio = node.shape(0), node.shape(7), node.number("compress_ratio")
    batch, length = query[:2]
    shapes = [(batch, length, _choices(node))]
    if node.attributes["policy_mode"] == b"qsa":
        return [*shapes, before if node.has(12) else (batch, before[1] + length, before[2])]
    buffered = node.shape(13)
    whole = buffered[2] >= ratio
    made, left = divmod(buffered[2] - whole * ratio + length, ratio)
    kept = before if node.has(12) else (batch, before[1] + made, before[2])
    return [*shapes, kept, (*buffered[:2], left + (whole or made > 0) * ratio, buffered[3])]


def chosen_in_a_row(node: OwnNode) -> list[Shape]:
    """The same for queries [T, width], with states that keep their sizes."""
    tokens, state = node.shape(0)[0], node.shape(12)
    gates = node.shape(14) if node.has(14) else ()
    changes = (state[0], node.number("state_update_capacity"), state[2])
    return [
        (tokens, _choices(node)),
        (tokens,),
        state,
        node.shape(13),
        gates,
        node.shape(15),
        changes,
    ]


def _choices(node: OwnNode) -> int:
    if node.attributes["policy_mode"] == b"qsa":
        return node.number("token_budget") + node.number("compress_ratio") - 1
    return node.number("index_topk")


def decoding(node: OwnNode) -> list[Shape]:
    """Attention [S, B, width] to itself or to an encoder's, with what is kept of keys and values:
    how long that is, three inputs decide.
    """
    length, batch, width = node.shape(0)
    if any(node.values[position] is None for position in (8, 9, 10)):
        return [node.shape(0)]
    (encoded,), (cached,), (kept,) = map(node.numbers, (8, 9, 10))
    keys = node.shape(1)[0] if encoded else length
    if cached and kept:
        before = node.shape(6)[2]
        keys = before if encoded else before + length
    heads = node.number("num_heads")
    present = (batch, heads, keys, divided(width, heads))
    return [node.shape(0), present, present]


RULES: dict[str, Rule] = {
    "DecoderAttention": decoding,
    "DynamicSparseAttention": sparse,
    "PackedMultiHeadAttention": in_a_row,
    "PackedSparseAttentionIndexer": chosen_in_a_row,
    "PagedAttention": paged,
    "SparseAttentionIndexer": chosen,
    "SparsePagedAttention": paged,
}
