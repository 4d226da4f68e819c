"""A decoder behind an encoder: attention to its own tokens and to the encoder's states.

As `WhisperDecoder` and `T5Stack` of transformers compute it. A prompt makes keys and values of the
encoder's states; further tokens read these.
"""

from math import log

from onnx import TensorProto

from benanza_ingest.decoders.decoder import Crossed
from benanza_ingest.decoders.growing import TOKENS, GrowingGraph, Shape

HEADS_FIRST = [0, 2, 1, 3]
PARTS = ("key", "value")


def positions(graph: GrowingGraph, of: str) -> str:
    """`of` with a learned row for each position, where the decoder has such."""
    d, base, shape = graph.of, "/model/embed_positions", (*TOKENS, graph.of.hidden)
    if not _crossed(graph).learned_positions:
        return of
    table = graph.weight("model.embed_positions.weight", (d.context, d.hidden))
    row = graph.node(f"{base}/Gather", [table, "position_ids"], shape)
    return graph.node(f"{base}/Add", [of, row], shape)


def scores_bias(graph: GrowingGraph) -> str:
    """What is added to the scores of a head, by how far a key is before a query; "" for nothing.

    Half of the buckets are for one distance each, and the others for more and more.
    """
    d, sizes, base = graph.of, _crossed(graph), "/model/relative_bias"
    if not sizes.buckets:
        return ""
    whole, real = TensorProto.INT64, TensorProto.FLOAT
    row, square = ("total_sequence_length",), ("sequence_length", "total_sequence_length")
    new = graph.node(f"{base}/new/Shape", ["input_ids"], (1,), whole, start=1)
    total = new
    if not d.prompt:
        past = graph.node(
            f"{base}/past/Shape", ["past_key_values.0.key"], (1,), whole, start=2, end=3
        )
        total = graph.node(f"{base}/total/Add", [past, new], (1,), whole)
    scalar = graph.constant([], whole)
    total = graph.node(f"{base}/total/Reshape", [total, scalar], (), whole)
    new = graph.node(f"{base}/new/Reshape", [new, scalar], (), whole)
    zero, step = graph.constant(0), graph.constant(1)
    first = graph.node(f"{base}/first/Sub", [total, new], (), whole)
    keys = graph.node(f"{base}/keys/Range", [zero, total, step], row, whole)
    queries = graph.node(f"{base}/queries/Range", [first, total, step], square[:1], whole)
    column = graph.constant([1])
    queries = graph.node(f"{base}/queries/Unsqueeze", [queries, column], (*square[:1], 1), whole)
    away = graph.node(f"{base}/Sub", [queries, keys], square, whole)
    away = graph.node(f"{base}/Max", [away, zero], square, whole)
    exact = sizes.buckets // 2
    far = graph.node(f"{base}/Cast", [away], square, real, to=real)
    far = graph.node(f"{base}/Div", [far, graph.constant(float(exact), real)], square, real)
    far = graph.node(f"{base}/Log", [far], square, real)
    slope = exact / log(sizes.farthest / exact)
    far = graph.node(f"{base}/Mul", [far, graph.constant(slope, real)], square, real)
    far = graph.node(f"{base}/Add", [far, graph.constant(float(exact), real)], square, real)
    last = graph.constant(float(sizes.buckets - 1), real)
    far = graph.node(f"{base}/Min", [far, last], square, real)
    far = graph.node(f"{base}/Cast_1", [far], square, whole, to=whole)
    near = graph.node(f"{base}/Less", [away, graph.constant(exact)], square, TensorProto.BOOL)
    bucket = graph.node(f"{base}/Where", [near, away, far], square, whole)
    table = graph.weight("model.relative_attention_bias.weight", (sizes.buckets, d.heads))
    bias = graph.node(f"{base}/Gather", [table, bucket], (*square, d.heads))
    bias = graph.node(f"{base}/Transpose", [bias], (d.heads, *square), perm=[2, 0, 1])
    return graph.node(f"{base}/Unsqueeze", [bias, graph.constant([0])], (1, d.heads, *square))


def self_attention(graph: GrowingGraph, layer: int, of: str, *, bias: str) -> str:
    """Adds attention to `of` and to what is kept, with its projections."""
    d, base = graph.of, f"/model/layers.{layer}/attn"
    queries, *new = (
        _projected(graph, f"{base}/{part[0]}_proj", of, d.hidden, "sequence_length")
        for part in ("query", *PARTS)
    )
    read = []
    for part, value in zip(PARTS, new, strict=True):
        name, shape = f"present.{layer}.{part}", _by_head(graph, "total_sequence_length")
        if d.prompt:
            graph.node(f"{base}/{part}/Identity", [value], shape)
        else:
            past = f"past_key_values.{layer}.{part}"
            graph.before.append(graph.typed(past, _by_head(graph, "past_sequence_length")))
            graph.node(f"{base}/{part}/Concat", [past, value], shape, axis=2)
        read.append(graph.result(name, shape))
    return _attended(graph, base, [queries, *read, *([bias] if bias else [])], int(d.prompt))


def cross_attention(graph: GrowingGraph, layer: int, of: str) -> str:
    """Adds attention to the encoder's states."""
    d, base, sizes = graph.of, f"/model/layers.{layer}/encoder_attn", _crossed(graph)
    queries = _projected(graph, f"{base}/q_proj", of, d.hidden, "sequence_length")
    read, shape = [], _by_head(graph, sizes.length)
    for part in PARTS:
        if d.prompt:
            states = "encoder_hidden_states"
            if all(each.name != states for each in graph.before):
                typed = graph.typed(states, ("batch_size", sizes.length, sizes.width))
                graph.before.append(typed)
            _projected(graph, f"{base}/{part[0]}_proj", states, sizes.width, sizes.length)
            read.append(graph.result(f"present.{layer}.encoder.{part}", shape))
        else:
            name = f"past_key_values.{layer}.encoder.{part}"
            graph.before.append(graph.typed(name, shape))
            read.append(name)
    return _attended(graph, base, [queries, *read], 0)


def _attended(graph: GrowingGraph, base: str, inputs: list[str], causal: int) -> str:
    """Attention by head, and the product behind it."""
    d, wide = graph.of, graph.of.heads * graph.of.head_size
    out = graph.node(
        f"{base}/Attention", inputs, _by_head(graph, "sequence_length"),
        scale=d.attention_scale or d.head_size**-0.5, is_causal=causal,
    )  # fmt: skip
    apart = (*TOKENS, d.heads, d.head_size)
    out = graph.node(f"{base}/Transpose", [out], apart, perm=HEADS_FIRST)
    flat = graph.constant([0, -1, wide])
    out = graph.node(f"{base}/Reshape", [out, flat], (*TOKENS, wide))
    return graph.product(f"{base}/o_proj", out, wide, d.hidden, d.output_bias)


def _projected(graph: GrowingGraph, name: str, of: str, depth: int, length: int | str) -> str:
    """A projection of `of` by head. Keys have no bias."""
    d, wide = graph.of, graph.of.heads * graph.of.head_size
    out = graph.product(name, of, depth, wide, d.bias and not name.endswith("/k_proj"), length)
    apart = graph.constant([0, -1, d.heads, d.head_size])
    shape = ("batch_size", length, d.heads, d.head_size)
    out = graph.node(f"{name}/Reshape", [out, apart], shape)
    return graph.node(f"{name}/Transpose", [out], _by_head(graph, length), perm=HEADS_FIRST)


def _by_head(graph: GrowingGraph, length: int | str) -> Shape:
    return ("batch_size", graph.of.heads, length, graph.of.head_size)


def _crossed(graph: GrowingGraph) -> Crossed:
    assert graph.of.crossed is not None, "it is behind an encoder"
    return graph.of.crossed
