"""Results of attention, and of what stands around it in language models.

In the comments, B is the batch, S the length of the query, P that of what is kept from before, T
that of the keys, N the number of heads and H their depth.
"""

from benanza_ingest.resolving.onnxruntime_operators.own_node import (
    OwnNode,
    Rule,
    Shape,
    divided,
    like,
)


def projected(past: int) -> Rule:
    """Attention that multiplies by its weights [D, Hq + Hk + Hv] itself. `past` is the input that
    keeps keys and values, [2, B, N, P, H].
    """

    def rule(node: OwnNode) -> list[Shape]:
        batch, length, _ = node.shape(0)
        heads = node.number("num_heads")
        width = node.shape(1)[-1]
        third = divided(width, 3) if "qkv_hidden_sizes" not in node.attributes else 0
        query, _, value = node.list("qkv_hidden_sizes", [third] * 3)
        before = node.shape(past)[3] if node.has(past) else 0
        kept = before if node.number("past_present_share_buffer") else before + length
        return [(batch, length, value), (2, batch, heads, kept, divided(query, heads))]

    return rule


def multi_head(node: OwnNode) -> list[Shape]:
    """Attention to keys and values [B, T, N x H], which with the query may be packed into one. What
    is kept is a buffer where it is told how many of it there are.
    """
    heads = node.number("num_heads")
    query = node.shape(0)
    batch, length = query[:2]
    if len(query) == 5:  # [B, S, N, 3, H]
        depth = value_depth = query[4]
        keys = length
    elif node.has(1) and len(node.shape(1)) == 5:  # [B, T, N, 2, H]
        keys, depth = node.shape(1)[1], node.shape(1)[4]
        value_depth = depth
    elif node.has(2) and len(node.shape(2)) == 4:  # [B, N, T, H]
        _, _, keys, value_depth = node.shape(2)
        depth = node.shape(1)[3]
    else:
        keys, depth = node.shape(1)[1], divided(query[2], heads)
        value_depth = divided(node.shape(2)[2], heads)
    if node.has(6):
        before = node.shape(6)[2]
        keys = before if node.has(8) else keys + before  # a buffer has room for the new ones
    return [
        (batch, length, heads * value_depth),
        (batch, heads, keys, depth),
        (batch, heads, keys, value_depth),
        (batch, heads, length, keys),
    ]


def grouped(node: OwnNode) -> list[Shape]:
    """Attention of many heads of queries to few of keys. Without keys, all are in the query. What
    is kept is as before, of which a byte may have two, and has as many places where these are those
    of a window.
    """
    heads, of_keys = node.number("num_heads"), node.number("kv_num_heads")
    batch, length, width = node.shape(0)
    depth = divided(width, heads if node.has(1) else heads + 2 * of_keys)
    before = node.shape(3)[2] if node.has(3) else 0
    total = node.numbers(6)[0] if len(node.values) > 6 and node.values[6] is not None else 0
    if before and node.number("sliding_window_cache"):
        kept = before
    else:
        kept = max(before, total) if total else before + length
    shown = (total or kept) if node.has(3) or node.number("qk_output") else length
    present = (batch, of_keys, kept, node.shape(3)[3] if node.has(3) else depth)
    return [(batch, length, heads * depth), present, present, (batch, heads, length, shown)]


def one_token(node: OwnNode) -> list[Shape]:
    """Attention of a step of decoding, which keeps its keys and values in the same memory. Without
    keys, all are in the query.
    """
    heads, query = node.number("num_heads"), node.shape(0)
    width = query[-1]
    if node.has(2):
        value = node.shape(2)
        width = value[-1] if len(value) == 3 else heads * value[3]
    elif not node.has(1):
        width = heads * node.shape(6)[3] if node.has(6) else divided(width, 3)
    results: list[Shape] = [(*query[:-1], width)]
    if node.has(5) and node.has(6):
        results += [node.shape(5), node.shape(6)]
    return results


def to_blocks(node: OwnNode) -> list[Shape]:
    """Attention of many heads of queries to blocks of few of keys, which are kept in the same
    memory. Without keys, all are in the query.
    """
    heads, of_keys = node.number("num_heads"), node.number("kv_num_heads")
    batch, length, width = node.shape(0)
    depth = divided(width, heads if node.has(1) else heads + 2 * of_keys)
    return [(batch, length, heads * depth), node.shape(3), node.shape(4)]


def embedded(ids: int, table: int) -> Rule:
    """Tokens to vectors: with the mask's lengths, and the sum before the norm."""

    def rule(node: OwnNode) -> list[Shape]:
        batch, length = node.shape(ids)
        embeddings = (batch, length, node.shape(table)[1])
        return [embeddings, (batch,), embeddings]

    return rule


def relative_positions(node: OwnNode) -> list[Shape]:
    """A bias for each head and pair of positions."""
    heads = node.shape(0)[1]
    return [(1, heads, node.numbers(1)[0], node.numbers(2)[0])]


def gated_relative_positions(node: OwnNode) -> list[Shape]:
    """Such a bias, weighed by the query [B, S, N x H]."""
    batch, length, _ = node.shape(0)
    return [(batch, node.number("num_heads"), length, length)]


def without_padding(node: OwnNode) -> list[Shape]:
    """Attention over the tokens of all sequences in a row, [tokens, D]."""
    tokens, width = node.shape(0)[0], node.shape(1)[-1]
    return [(tokens, node.list("qkv_hidden_sizes", [divided(width, 3)] * 3)[2])]


def skip_norm(node: OwnNode) -> list[Shape]:
    """A norm of a sum: also with its statistics, and the sum itself."""
    x = node.shape(0)
    row = (*x[:-1], 1)
    return [x, row, row, x]


def norm(node: OwnNode) -> list[Shape]:
    """A norm of the axes from `axis` on, with its statistic."""
    x = node.shape(0)
    axis = node.number("axis", -1) % max(1, len(x))
    return [x, (*x[:axis], *(1,) * (len(x) - axis))]


RULES: dict[str, Rule] = {
    "Attention": projected(4),
    "DecoderMaskedMultiHeadAttention": one_token,
    "DecoderMaskedSelfAttention": projected(4),
    "EmbedLayerNormalization": embedded(0, 2),
    "EngramGate": like(0, 0),
    "GatedRelativePositionBias": gated_relative_positions,
    "GemmaRotaryEmbedding": like(1, 3),
    "GroupQueryAttention": grouped,
    "LongformerAttention": like(0),
    "MRotaryEmbedding": like(0),
    "MoE": like(0),
    "MultiHeadAttention": multi_head,
    "PackedAttention": without_padding,
    "QAttention": projected(8),
    "QEmbedLayerNormalization": embedded(0, 2),
    "QMoE": like(0),
    "QOrderedAttention": lambda node: [(*node.shape(0)[:2], node.shape(7)[-1])],
    "QOrderedLongformerAttention": like(0),
    "RelativePositionBias": relative_positions,
    "RotaryEmbedding": like(0),
    "SimplifiedLayerNormalization": norm,
    "SkipLayerNormalization": skip_norm,
    "SkipSimplifiedLayerNormalization": skip_norm,
    "SparseAttention": to_blocks,
}
