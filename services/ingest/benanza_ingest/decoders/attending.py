"""Attention of a decoder's layer, with its projections and what it reads beside them.

As `make_attention` of onnxruntime-genai's `builders/base.py` writes it, for Phi's tables
`builders/phi.py`, for Gemma's `builders/gemma.py`.
"""

from typing import Any, NamedTuple

from onnx import TensorProto, helper

from benanza_ingest.decoders.growing import OWN, TOKENS, GrowingGraph

Tables = tuple[str, str]
"""The names of a table of cosines and of one of sines."""


class Lengths(NamedTuple):
    """Names of the lengths of the kept sequences and of the total length, and that in int64."""

    past: str
    total: str
    total_int64: str


def lengths(graph: GrowingGraph) -> Lengths:
    """Adds what computes the lengths from the mask."""
    base = "/model/attn_mask_reformat/attn_mask_subgraph"
    whole, small, batch = TensorProto.INT64, TensorProto.INT32, ("batch_size",)
    one = graph.constant([1])
    total = graph.node(f"{base}/ReduceSum", ["attention_mask", one], batch, whole, keepdims=0)
    past = graph.node(f"{base}/Sub", [total, one], batch, whole)
    past = graph.node(f"{base}/Sub/Cast", [past], batch, small, to=small)
    shape = graph.node(f"{base}/Shape", ["attention_mask"], (2,), whole)
    length = graph.node(f"{base}/Gather", [shape, graph.constant(1)], (), whole, axis=0)
    return Lengths(past, graph.node(f"{base}/Gather/Cast", [length], (), small, to=small), length)


def rotary_tables(graph: GrowingGraph, total: str, window: int) -> Tables:
    """The rotary tables of a layer with this window. Gemma 3's local layers have some of their
    own; Phi's are chosen by the length of the sequence.
    """
    d = graph.of
    half = (d.rotary_size or d.head_size) // 2
    if not d.original_context:
        ends = ("_local" if window else "_global") if d.qk_norm and d.window else ""
        cosines, sines = (
            graph.weight(f"{n}_cache{ends}", (d.context, half)) for n in ("cos", "sin")
        )
        return cosines, sines
    base, names = "/model/rope_caches_subgraph", ("cos_cache", "sin_cache")
    if any(node.output[0] == names[0] for node in graph.nodes):
        return names
    asked = [total, graph.constant(d.original_context)]
    longer = graph.node(f"{base}/Greater", asked, (), TensorProto.BOOL)
    branches: dict[str, Any] = {}
    for branch, title, rows in (
        ("then_branch", "large", d.context),
        ("else_branch", "small", d.original_context),
    ):
        outputs = [graph.typed(f"{name}_{title}", (rows, half)) for name in names]
        tables = [graph.weight(f"{name}_{title}.table", (rows, half)) for name in names]
        taken = [
            helper.make_node("Identity", [table], [output.name])
            for table, output in zip(tables, outputs, strict=True)
        ]
        branches[branch] = helper.make_graph(taken, f"{title}_rope_caches_graph", [], outputs)
    graph.nodes.append(helper.make_node("If", [longer], names, f"{base}/If", **branches))
    graph.types += [graph.typed(name, ("max_sequence_length", "head_dim / 2")) for name in names]
    return names


def attention(graph: GrowingGraph, layer: int, of: str, *, known: Lengths) -> str:
    """Adds grouped-query attention to `of` and to what is kept, with its projections."""
    d, base = graph.of, f"/model/layers.{layer}/attn"
    wide, window = d.heads * d.head_size, d.window_of(layer)
    tables = rotary_tables(graph, known.total_int64, window)
    queries, keys, values = _projected(graph, base, of)
    if not d.fused_rotation:
        queries = _rotated(graph, f"{base}/q_rotary", queries, d.heads, tables)
        keys = _rotated(graph, f"{base}/k_rotary", keys, d.kv_heads, tables)
    kept = [f"past_key_values.{layer}.{name}" for name in ("key", "value")]
    inputs = [queries, keys, values, *kept, known.past, known.total]
    inputs += tables if d.fused_rotation else ("", "")
    if d.sinks:
        inputs += ["", "", graph.weight(f"{base[1:].replace('/', '.')}.sinks", (d.heads,))]
    out = graph.node(
        f"{base}/GroupQueryAttention",
        inputs,
        (*TOKENS, wide),
        **OWN,
        num_heads=d.heads,
        kv_num_heads=d.kv_heads,
        scale=d.attention_scale or d.head_size**-0.5,
        local_window_size=window or -1,
        softcap=d.softcap,
        do_rotary=int(d.fused_rotation),
        rotary_interleaved=0,
    )
    for part in ("key", "value"):
        shapes = (
            ("batch_size", d.kv_heads, f"{length}_sequence_length", d.head_size)
            for length in ("past", "total")
        )
        graph.before.append(graph.typed(f"past_key_values.{layer}.{part}", next(shapes)))
        graph.after.append(graph.typed(f"present.{layer}.{part}", next(shapes)))
        graph.nodes[-1].output.append(f"present.{layer}.{part}")
    return graph.product(f"{base}/o_proj", out, wide, d.hidden, d.output_bias)


def _projected(graph: GrowingGraph, base: str, of: str) -> tuple[str, str, str]:
    """Queries, keys and values; all in the first where the attention takes them together."""
    d = graph.of
    wide, narrow = d.heads * d.head_size, d.kv_heads * d.head_size
    if not d.fused_rotation:
        queries = graph.product(f"{base}/q_proj", of, d.hidden, wide, d.bias)
        keys = graph.product(f"{base}/k_proj", of, d.hidden, narrow, d.bias)
        return queries, keys, graph.product(f"{base}/v_proj", of, d.hidden, narrow, d.bias)
    packed = graph.product(f"{base}/qkv_proj", of, d.hidden, wide + 2 * narrow, d.bias)
    if not d.qk_norm:
        return packed, "", ""
    name, sizes = f"{base}/qkv_proj/Split", graph.constant([wide, narrow, narrow])
    queries = graph.node(name, [packed, sizes], (*TOKENS, wide), axis=-1)
    keys, values = (f"{name}/output_{i}" for i in (1, 2))
    graph.more_outputs([keys, values], (*TOKENS, narrow))
    queries = _normed(graph, f"{base}/q_norm", queries, d.heads)
    return queries, _normed(graph, f"{base}/k_norm", keys, d.kv_heads), values


def _normed(graph: GrowingGraph, name: str, of: str, heads: int) -> str:
    """Each head of `of` normalised by itself."""
    size = graph.of.head_size
    apart = ("batch_size", f"sequence_length * {heads}", size)
    out = graph.node(f"{name}/Reshape_1", [of, graph.constant([0, -1, size])], apart)
    weight = graph.weight(f"{name[1:].replace('/', '.')}.layernorm.weight", (size,))
    out = graph.node(
        f"{name}/SimplifiedLayerNormalization",
        [out, weight],
        apart,
        epsilon=1e-6,
        axis=-1,
        stash_type=1,
    )
    width = heads * size
    joined = graph.constant([0, -1, width])
    return graph.node(f"{name}/Reshape_2", [out, joined], (*TOKENS, width))


def _rotated(graph: GrowingGraph, name: str, of: str, heads: int, tables: Tables) -> str:
    d = graph.of
    return graph.node(
        f"{name}/RotaryEmbedding",
        [of, "position_ids", *tables],
        (*TOKENS, heads * d.head_size),
        **OWN,
        interleaved=0,
        rotary_embedding_dim=d.rotary_size,
        num_heads=heads if d.rotary_size else 0,
    )
