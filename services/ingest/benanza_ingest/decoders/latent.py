"""Multi-head latent attention, of which one vector is kept for each token, for all heads.

As the report of DeepSeek-V2 (arXiv 2405.04434) has it, in section 2.1: for a prompt, keys and
values are made of the kept vectors; for one token more, what makes them is multiplied to the
queries and to the result, so that all heads attend to the kept vectors themselves.
"""

from benanza_ingest.decoders.decoder import Latent
from benanza_ingest.decoders.growing import OWN, TOKENS, GrowingGraph, Shape

HEADS_FIRST = [0, 2, 1, 3]


def latent_attention(graph: GrowingGraph, layer: int, of: str) -> str:
    """Adds attention to `of` and to what is kept, with its projections."""
    d, base = graph.of, f"/model/layers.{layer}/attn"
    sizes = d.latent
    assert sizes is not None, "it has latent attention"
    tall = d.head_size + sizes.rotated
    queries = graph.product(f"{base}/q_proj", of, d.hidden, d.heads * tall)
    queries, rotated = _apart(graph, f"{base}/q", queries, d.heads, (d.head_size, sizes.rotated))
    rotated = _rotated(graph, f"{base}/q_rotary", rotated, d.heads)
    vector = graph.product(f"{base}/kv_a_proj", of, d.hidden, sizes.rank + sizes.rotated)
    vector, key = _cut(graph, f"{base}/kv_a", vector, TOKENS, (sizes.rank, sizes.rotated))
    vector = graph.norm(f"{base}/kv_a_layernorm", vector, width=sizes.rank)[0]
    key = graph.node(
        f"{base}/kv_a/Reshape", [key, graph.constant([0, -1, 1, sizes.rotated])],
        (*TOKENS, 1, sizes.rotated),
    )  # fmt: skip
    key = graph.node(f"{base}/kv_a/Transpose", [key], _by_head(1, sizes.rotated), perm=HEADS_FIRST)
    key = _rotated(graph, f"{base}/k_rotary", key, 1)
    one = graph.constant([1])
    apart = graph.node(f"{base}/kv_a/Unsqueeze", [vector, one], _by_head(1, sizes.rank))
    kept = sizes.rank + sizes.rotated
    new = graph.node(f"{base}/kv_a/Concat", [apart, key], _by_head(1, kept), axis=-1)
    attend = _of_prompt if d.prompt else _of_token
    out = attend(graph, layer, (queries, rotated), (new, apart, key), sizes)
    out = graph.node(f"{base}/Transpose", [out], (*TOKENS, d.heads, sizes.width), perm=HEADS_FIRST)
    flat = graph.constant([0, -1, d.heads * sizes.width])
    out = graph.node(f"{base}/Reshape", [out, flat], (*TOKENS, d.heads * sizes.width))
    return graph.product(f"{base}/o_proj", out, d.heads * sizes.width, d.hidden)


def _of_token(
    graph: GrowingGraph,
    layer: int,
    queries: tuple[str, str],
    new: tuple[str, str, str],
    sizes: Latent,
) -> str:
    """The result by head, of attention to the kept vectors: their first part are the values."""
    d, base = graph.of, f"/model/layers.{layer}/attn"
    wide = sizes.rank + sizes.rotated
    past, shape = f"past_latent.{layer}", _by_head(1, wide, "total_sequence_length")
    graph.before.append(graph.typed(past, _by_head(1, wide, "past_sequence_length")))
    graph.node(f"{base}/kept/Concat", [past, new[0]], shape, axis=2)
    kept = graph.result(f"present_latent.{layer}", shape)
    name = f"{base[1:].replace('/', '.')}.kv_b_proj"
    down = graph.weight(f"{name}.keys", (d.heads, d.head_size, sizes.rank))
    up = graph.weight(f"{name}.values", (d.heads, sizes.rank, sizes.width))
    within = graph.node(f"{base}/keys/MatMul", [queries[0], down], _by_head(d.heads, sizes.rank))
    query = graph.node(f"{base}/q/Concat", [within, queries[1]], _by_head(d.heads, wide), axis=-1)
    bounds = [graph.constant([number]) for number in (0, sizes.rank, 3)]
    values = graph.node(
        f"{base}/values/Slice", [kept, *bounds], _by_head(1, sizes.rank, "total_sequence_length")
    )
    out = graph.node(
        f"{base}/Attention",
        [query, kept, values],
        _by_head(d.heads, sizes.rank),
        scale=_scale(graph),
    )
    return graph.node(f"{base}/values/MatMul", [out, up], _by_head(d.heads, sizes.width))


def _of_prompt(
    graph: GrowingGraph,
    layer: int,
    queries: tuple[str, str],
    new: tuple[str, str, str],
    sizes: Latent,
) -> str:
    """The result by head, of attention to keys and values that are made of the vectors."""
    d, base = graph.of, f"/model/layers.{layer}/attn"
    kept, vector, key = new
    shape = _by_head(1, sizes.rank + sizes.rotated)
    graph.node(f"{base}/kept/Identity", [kept], shape)
    graph.result(f"present_latent.{layer}", shape)
    first = graph.constant([1])
    vector = graph.node(f"{base}/kv_a/Squeeze", [vector, first], (*TOKENS, sizes.rank))
    made = graph.product(
        f"{base}/kv_b_proj", vector, sizes.rank, d.heads * (d.head_size + sizes.width)
    )
    keys, values = _apart(graph, f"{base}/kv_b", made, d.heads, (d.head_size, sizes.width))
    shared = graph.constant([1, d.heads, 1, 1])
    key = graph.node(f"{base}/k_rotary/Expand", [key, shared], _by_head(d.heads, sizes.rotated))
    tall = _by_head(d.heads, d.head_size + sizes.rotated)
    query = graph.node(f"{base}/q/Concat", list(queries), tall, axis=-1)
    keys = graph.node(f"{base}/k/Concat", [keys, key], tall, axis=-1)
    return graph.node(
        f"{base}/Attention", [query, keys, values], _by_head(d.heads, sizes.width),
        scale=_scale(graph), is_causal=1,
    )  # fmt: skip


def _scale(graph: GrowingGraph) -> float:
    d = graph.of
    assert d.latent is not None, "it has latent attention"
    return float((d.head_size + d.latent.rotated) ** -0.5)


def _by_head(heads: int, size: int, length: str = "sequence_length") -> Shape:
    return ("batch_size", heads, length, size)


def _apart(
    graph: GrowingGraph, name: str, of: str, heads: int, sizes: tuple[int, int]
) -> tuple[str, str]:
    """Rows of all heads by head, as the two parts of each."""
    shape = graph.constant([0, -1, heads, sum(sizes)])
    out = graph.node(f"{name}/Reshape_1", [of, shape], (*TOKENS, heads, sum(sizes)))
    out = graph.node(f"{name}/Transpose_1", [out], _by_head(heads, sum(sizes)), perm=HEADS_FIRST)
    return _cut(graph, name, out, ("batch_size", heads, "sequence_length"), sizes)


def _cut(
    graph: GrowingGraph, name: str, of: str, lead: Shape, sizes: tuple[int, int]
) -> tuple[str, str]:
    """The two parts of each row."""
    first = graph.node(
        f"{name}/Split", [of, graph.constant(list(sizes))], (*lead, sizes[0]), axis=-1
    )
    second = f"{name}/Split/output_1"
    graph.more_outputs([second], (*lead, sizes[1]))
    return first, second


def _rotated(graph: GrowingGraph, name: str, of: str, heads: int) -> str:
    """By head; neighbours in a head are a pair."""
    d = graph.of
    assert d.latent is not None, "it has latent attention"
    size = d.latent.rotated
    tables = [graph.weight(f"{each}_cache", (d.context, size // 2)) for each in ("cos", "sin")]
    inputs = [of, "position_ids", *tables]
    return graph.node(
        f"{name}/RotaryEmbedding", inputs, _by_head(heads, size), **OWN, interleaved=1
    )
