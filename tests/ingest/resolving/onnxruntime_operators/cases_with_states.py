"""Random nodes of operators of recent language models, and of a few rare ones."""

import numpy as np

from tests.ingest.resolving.onnxruntime_operators.drawing import (
    Array,
    Case,
    Make,
    Random,
    floats,
    like,
    sizes,
)


def gated(r: Random) -> Case:
    x = floats(*sizes(r, r.randint(2, 4)))
    return Case([x, x, x[..., :1].copy()])


def gated_norm(r: Random) -> Case:
    *outer, groups, width = sizes(r, r.randint(3, 5))
    x = floats(*outer, groups * width)
    return Case([x, floats(width), x])


def branches(r: Random) -> tuple[Array, int, int, dict[str, int]]:
    """Streams of some branches of a width, with the attribute that says how they stand."""
    *outer, count, width = sizes(r, r.randint(3, 5))
    if r.random() < 0.5:
        return floats(*outer, count, width), count, width, {}
    return floats(*outer, count * width), count, width, {"num_branches": count}


def branch_norm(r: Random) -> Case:
    x, _, width, numbers = branches(r)
    return Case([x, floats(width)], numbers)


def before_branches(r: Random) -> Case:
    x, count, _, numbers = branches(r)
    outer = x.shape[: -1 if numbers else -2]
    return Case([x, floats(*outer, count)], numbers)


def after_branches(r: Random) -> Case:
    x, count, width, numbers = branches(r)
    outer = x.shape[: -1 if numbers else -2]
    given = [x, floats(*outer, width), floats(*outer, count)]
    return Case([*given, floats(*outer, count, count)] if r.random() < 0.5 else given, numbers)


def causal(r: Random) -> Case:
    batch, channels, length, kernel = sizes(r, 4)
    numbers = {"dilation": r.randint(1, 3)}
    weights = floats(channels, 1, kernel)
    if r.random() < 0.5:
        return Case([floats(batch, channels, length), weights], numbers, 2)
    x = floats(batch, length, channels)
    return Case([x, weights, floats(channels)], numbers | {"channels_last": 1}, 2)


def linear(r: Random) -> Case:
    batch, length, few, times, depth, value_depth = sizes(r, 6)
    heads, of_keys = (few * times, few) if r.random() < 0.5 else (few, few * times)
    given: list[Array | None] = [
        floats(batch, length, heads * depth),
        floats(batch, length, of_keys * depth),
        floats(batch, length, of_keys * value_depth),
    ]
    if r.random() < 0.5:
        given.append(floats(batch, of_keys, depth, value_depth))
    numbers = {"q_num_heads": heads, "kv_num_heads": of_keys}
    return Case(given, numbers | {"update_rule": "linear"}, 2)


def linear_gate(r: Random) -> Case:
    x = floats(*sizes(r, 3))
    bias = floats(x.shape[-1])
    return Case([x, bias, bias, x], {}, 2)


def engram(r: Random) -> Case:
    batch, length, streams, width = sizes(r, 4)
    x, scale = floats(batch, length, streams, width), floats(streams, width)
    return Case([x, x, floats(batch, length, width), scale, scale, scale], {}, 2)


def hashed(r: Random) -> Case:
    longest, heads = r.randint(2, 5), r.randint(1, 4)
    words, several = np.zeros(sizes(r, 2), np.int64), np.ones(longest, np.int64)
    sizes_ = np.full((longest - 1) * heads, 7, np.int64)
    numbers = {"max_ngram_size": longest, "n_head_per_ngram": heads, "pad_id": 0}
    return Case([words, several, sizes_], numbers, 2)


def hashed_in_a_row(r: Random) -> Case:
    longest, heads, batch, length = r.randint(2, 5), r.randint(1, 4), r.randint(1, 3), 4
    words = np.zeros(batch * length, np.int64)
    sizes_ = np.full((longest - 1) * heads, 7, np.int64)
    ends = np.arange(batch + 1, dtype=np.int32) * length
    given: list[Array | None] = [words, np.ones(longest, np.int64), sizes_, ends, None, None, None]
    given += [np.zeros(batch * length, np.int32), None, np.ones(batch, np.int32)]
    numbers = {"max_ngram_size": longest, "n_head_per_ngram": heads, "pad_id": 0}
    return Case(given, numbers | {"state_update_capacity": r.randint(1, 3)}, 4)


def rotary(r: Random) -> Case:
    batch, length, heads, depth = r.randint(1, 3), r.randint(1, 5), r.randint(1, 3), 8
    places = np.zeros((3, batch, length), np.int64)
    tables, numbers = [floats(16, depth // 2)] * 2, {"mrope_section": [2, 1, 1], "num_heads": heads}
    if r.random() < 0.5:
        return Case([floats(batch, heads, length, depth), places, *tables], numbers)
    return Case([floats(batch, length, heads * depth), places, *tables], numbers)


def attentive(r: Random) -> Case:
    steps, batch, width, hidden, memory, depth, inner = sizes(r, 7)
    ways = r.randint(1, 2)
    given: list[Array | None] = [
        floats(steps, batch, width),
        floats(ways, 4 * hidden, width + depth),
        floats(ways, 4 * hidden, hidden),
        *(None,) * 5,
        floats(ways, hidden, inner),
        floats(ways, depth, inner),
        floats(ways, inner),
        floats(batch, memory, depth),
    ]
    way = "bidirectional" if ways == 2 else "forward"
    return Case(given, {"hidden_size": hidden, "direction": way}, 3)


def transposed_convolution(r: Random) -> Case:
    batch, channels, filters, height, width = (each + 1 for each in sizes(r, 5))
    kernel = [r.randint(1, 3), r.randint(1, 3)]
    pads = np.array([r.randint(0, each // 2) for each in kernel * 2])
    numbers = {"strides": [r.randint(1, 3)] * 2, "kernel_shape": kernel}
    x, w = floats(batch, channels, height, width), floats(channels, filters, *kernel)
    return Case([x, w, pads], numbers, 1, (2,))


def gathered(r: Random) -> Case:
    shape = sizes(r, r.randint(1, 4))
    outer = sizes(r, r.randint(0, 2))
    return Case([floats(*shape), np.zeros((*outer, r.randint(1, len(shape))), np.int64)])


def counted(r: Random) -> Case:
    kind = r.choice((np.float32, np.int64))
    ends = [np.array(r.randint(0, 3), kind), np.array(r.randint(4, 20), kind)]
    steps = [np.array(r.randint(1, 3), kind)] * r.randint(0, 1)
    return Case([*ends, *steps], {}, 1, (0, 1, 2)[: 2 + len(steps)])


def words(r: Random) -> Case:
    count, letters, width, filters = sizes(r, 4)
    window = r.randint(1, letters)
    given = [floats(filters, 1, window, width), floats(filters), floats(9, width)]
    return Case([np.ones((count, letters), np.int32), *given])


CASES: dict[str, Make] = {
    "AttnLSTM": attentive,
    "BranchwiseRMSNorm": branch_norm,
    "CausalConvWithState": causal,
    "ConvTransposeWithDynamicPads": transposed_convolution,
    "EngramGate": engram,
    "GatedAdd": gated,
    "GatedRMSNorm": gated_norm,
    "GatherND": gathered,
    "HyperConnectionPostMix": after_branches,
    "HyperConnectionPreMix": before_branches,
    "LinearAttention": linear,
    "LinearAttentionGate": linear_gate,
    "MRotaryEmbedding": rotary,
    "NGramHashMapping": hashed,
    "Range": counted,
    "ScaledSiLU": like(),
    "VarlenNGramHashMapping": hashed_in_a_row,
    "WordConvEmbedding": words,
}
