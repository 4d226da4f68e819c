"""Results of operators that keep a state from call to call: recurrences, causal convolutions, and
hashes of the last words.

In the comments, B is the batch, S the length of its sequences, and T the number of all tokens where
sequences of different lengths stand in a row.
"""

from benanza_ingest.resolving.onnxruntime_operators.own_node import (
    OwnNode,
    Rule,
    Shape,
    divided,
    like,
)


def attentive(node: OwnNode) -> list[Shape]:
    """An LSTM with attention: hidden states of all steps, and the last ones."""
    steps, batch, _ = node.shape(0)
    directions, _, hidden = node.shape(2)
    last = (directions, batch, hidden)
    return [(steps, directions, batch, hidden), last, last]


def linear_attention(node: OwnNode) -> list[Shape]:
    """Also the state [B, heads, depth of keys, depth of values], or the last of them."""
    batch, length, width = node.shape(0)
    heads, of_keys = node.number("q_num_heads"), node.number("kv_num_heads")
    value_depth = divided(node.shape(2)[-1], of_keys)
    state = (batch, of_keys, divided(width, heads), value_depth)
    return [(batch, length, max(heads, of_keys) * value_depth), _windowed(node, state)]


def gated_delta(node: OwnNode) -> list[Shape]:
    """Also the state [B, heads, depth of values, depth of keys], and what recent tokens changed.
    Without keys, all are in the query.
    """
    if node.has(1):
        *outer, heads, key_depth = node.shape(0)
        value_heads, value_depth = node.shape(2)[-2:]
    else:
        *outer, width = node.shape(0)
        _, value_heads, value_depth, key_depth = node.shape(6)
        heads = divided(width - value_heads * value_depth, 2 * key_depth)
    batch = node.shape(6)[0] if node.has(6) else node.shape(3)[0] - 1
    of_token = value_heads + heads * key_depth + value_heads * value_depth
    return [
        (*outer, max(heads, value_heads), value_depth),
        (batch, value_heads, value_depth, key_depth),
        (batch, node.number("state_update_capacity") * of_token),
    ]


def causal(node: OwnNode) -> list[Shape]:
    """A convolution with what came before, of which it keeps the end."""
    x = node.shape(0)
    length = (node.shape(1)[-1] - 1) * node.number("dilation", 1)
    last = bool(node.number("channels_last"))
    state = (x[0], length, *x[2:]) if last else (*x[:-1], length)
    return [x, _windowed(node, state)]


def causal_in_a_row(node: OwnNode) -> list[Shape]:
    """The same over [T, channels]; also the inputs of the last tokens."""
    before = node.shape(4)
    return [
        node.shape(0),
        before,
        (before[0], node.number("state_update_capacity"), before[1]),
    ]


def hashed(node: OwnNode) -> list[Shape]:
    """A number for each head and each count of words, from two on; and the last words."""
    longest = node.number("max_ngram_size") - 1
    hashes = (*node.shape(0), longest * node.number("n_head_per_ngram"))
    if node.op_type == "NGramHashMapping":
        return [hashes, (node.shape(0)[0], longest)]
    batch = node.shape(3)[0] - 1
    kept = (batch, longest)
    return [hashes, kept, kept, (batch, node.number("state_update_capacity"), longest)]


def reduced(node: OwnNode) -> list[Shape]:
    """Streams (..., branches, width), which may be flattened, become one."""
    *outer, last = node.shape(0)
    branches = node.number("num_branches")
    return [(*outer, divided(last, branches)) if branches else (*outer[:-1], last)]


def without_padding(node: OwnNode) -> list[Shape]:
    """All tokens of the sequences in a row, and where they were."""
    batch, length, width = node.shape(0)
    return [(sum(node.numbers(1)), width), (batch, length), (batch + 1,), (1,)]


def with_padding(node: OwnNode) -> list[Shape]:
    """The inverse."""
    return [(*node.shape(1), node.shape(0)[1])]


def _windowed(node: OwnNode, state: Shape) -> Shape:
    window = node.number("state_window")
    return (window, *state) if window else state


RULES: dict[str, Rule] = {
    "AttnLSTM": attentive,
    "CausalConvWithState": causal,
    "GatedDeltaNet": gated_delta,
    "HyperConnectionPostMix": like(0),
    "HyperConnectionPreMix": reduced,
    "LinearAttention": linear_attention,
    "LinearAttentionGate": like(0, 0),
    "NGramHashMapping": hashed,
    "RemovePadding": without_padding,
    "RestorePadding": with_padding,
    "VarlenCausalConvWithState": causal_in_a_row,
    "VarlenNGramHashMapping": hashed,
}
