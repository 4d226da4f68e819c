"""Random nodes of operators, or with attributes, that ONNX Runtime has on no CPU."""

from typing import Any

import numpy as np
from ml_dtypes import float8_e4m3fn

from tests.ingest.resolving.onnxruntime_operators import cases_with_states
from tests.ingest.resolving.onnxruntime_operators.drawing import (
    Array,
    Case,
    Make,
    Random,
    bytes_,
    floats,
    sizes,
)

ONE = np.array(1, np.float32)


def halves(*shape: int) -> Array:
    return floats(*shape).astype(np.float16)


def whole(*shape: int) -> Array:
    return np.ones(shape, np.int32)


def windowed(make: Make) -> Make:
    """The states after each of the last tokens."""

    def made(r: Random) -> Case:
        case = make(r)
        return Case(case.inputs[:3], {**case.attributes, "state_window": r.randint(1, 4)}, 2)

    return made


def decoder_attention(r: Random) -> Case:
    length, batch, heads, keys = sizes(r, 4)
    width, flags = heads * 8, [np.array(r.random() < 0.5) for _ in range(3)]
    cache = floats(batch, heads, keys, 8)
    given: list[Array | None] = [
        floats(length, batch, width),
        floats(keys, batch, width),
        floats(width, width),
        floats(width, 2 * width),
        floats(3 * width),
        *(None, cache, cache),
        *flags,
        np.array(False),
    ]
    return Case(given, {"num_heads": heads}, 3, (8, 9, 10))


def masked_self_attention(r: Random) -> Case:
    batch, heads, before, model = sizes(r, 4)
    width, shared = heads * 4, r.randint(0, 1)
    given: list[Array | None] = [floats(batch, 1, model), floats(model, 3 * width)]
    given += [floats(3 * width), None, floats(2, batch, heads, before, 4), None, whole(1)]
    return Case(given, {"num_heads": heads, "past_present_share_buffer": shared}, 2)


def with_order(r: Random) -> Case:
    return Case([floats(*sizes(r, 2)), ONE], {"order_input": 1, "order_output": 1})


def back_from_order(r: Random) -> Case:
    numbers = {"order_input": 1, "order_output": 1, "to": r.choice((1, 10))}
    return Case([bytes_(*sizes(r, 2), dtype=np.int8), ONE], numbers)


def from_blocks(r: Random) -> Case:
    shape = np.array(sizes(r, r.randint(1, 4)))
    return Case([bytes_(100), shape, shape], {"bfp_type": 1, "dtype": r.choice((1, 10))}, 1, (1,))


def block_fp8(r: Random) -> Case:
    outer, (k, n) = sizes(r, r.randint(1, 3)), sizes(r, 2)
    return Case([halves(*outer, k), floats(n, k).astype(float8_e4m3fn), floats(n, 1)])


def block_fp4(r: Random) -> Case:
    outer, (k, n) = sizes(r, r.randint(1, 3)), sizes(r, 2)
    return Case([halves(*outer, 2 * k), bytes_(n, k), bytes_(n, 1), ONE])


def packed(n: int, k: int) -> list[Array | None]:
    return [bytes_(n, k // 32, 16), floats(n, k // 32), None]


def mlp(r: Random) -> Case:
    n, k = r.randint(1, 9), 32 * r.randint(1, 3)
    x = floats(*sizes(r, 2), k)
    numbers: dict[str, Any] = {"K": k, "N": n, "bits": 4, "block_size": 32, "activation": "silu"}
    return Case([x, x, floats(k), *packed(n, k) * 2], numbers, 2)


def qkv(r: Random) -> Case:
    n, few, k = r.randint(1, 9), r.randint(1, 9), 32 * r.randint(1, 3)
    x = floats(*sizes(r, 2), k)
    numbers = {"K": k, "Nq": n, "Nkv": few, "bits": 4, "block_size": 32}
    return Case([x, x, floats(k), *packed(n, k), *packed(few, k) * 2], numbers, 4)


def in_a_row(r: Random) -> Case:
    tokens, heads, depth, batch = sizes(r, 4)
    ends: list[Array | None] = [None, whole(batch, tokens), whole(batch + 1)]
    x = floats(tokens, heads * depth)
    if r.random() < 0.5:
        given = [x, x, floats(tokens, heads * (depth + 1)), *ends]
        return Case(given, {"num_heads": heads})
    return Case([floats(tokens, heads, 3, depth), None, None, *ends], {"num_heads": heads})


def paged(r: Random) -> Case:
    tokens, few, times, batch, blocks = sizes(r, 5)
    heads, cache = few * times, halves(blocks, 16, few, 8)
    numbers = {"num_heads": heads, "kv_num_heads": few}
    given: list[Array | None] = [cache, cache, whole(batch + 1), whole(batch), whole(batch, 2)]
    if r.random() < 0.5:
        packed_ = halves(tokens, (heads + 2 * few) * 8)
        return Case([packed_, None, None, *given], numbers, 3)
    key = halves(tokens, few * 8)
    return Case([halves(tokens, heads * 8), key, key, *given], numbers, 3)


def latent(r: Random) -> Case:
    """Values are the first part of the keys."""
    tokens, heads, batch, blocks = sizes(r, 4)
    given: list[Array | None] = [halves(tokens, heads * 16), halves(tokens, 16), None]
    given += [halves(blocks, 16, 1, 16), None, whole(batch + 1), whole(batch), whole(batch, 2)]
    numbers = {"num_heads": heads, "kv_num_heads": 1, "kv_cache_layout": "LATENT", "scale": 1.0}
    return Case(given, numbers | {"v_head_size": 8}, 2)


def paged_or_latent(r: Random) -> Case:
    return paged(r) if r.random() < 0.5 else latent(r)


def sparse_paged(r: Random) -> Case:
    made = paged(r)
    tokens = made.inputs[0]
    assert tokens is not None
    chosen = [None, whole(len(tokens), 4), whole(len(tokens))]
    return Case([*made.inputs, *chosen], made.attributes, 3)


def dynamic_sparse(r: Random) -> Case:
    batch, length, few, times, before = sizes(r, 5)
    heads, past = few * times, floats(batch, few, before + length, 8)
    key = floats(batch, length, few * 8)
    chosen = [None, None, whole(batch * length, 4), whole(batch * length)]
    given = [floats(batch, length, heads * 8), key, key, past, past, *chosen]
    lengths = [whole(batch), np.array(before + length, np.int32)]
    numbers = {"num_heads": heads, "kv_num_heads": few}
    return Case([*given, *lengths], numbers, 3, (10,))


def indexer(r: Random) -> Case:
    batch, length, heads, before, ratio = sizes(r, 5)
    x, norm, table = floats(batch, length, heads * 8), floats(8), floats(64, 4)
    whole_ = [whole(1)] * r.randint(0, 1)
    given: list[Array | None]
    if r.random() < 0.5:
        numbers = {"compress_ratio": ratio, "token_budget": 4 * ratio, "policy_mode": "qsa"}
        given = [x, floats(batch, length, 8), norm, norm, table, table, None]
        given += [floats(batch, before, 8), None, None, None, None, *whole_]
        return Case(given, numbers, 2)
    two, buffered = floats(batch, length, 16), r.randint(0, 2 * ratio - 1)
    given = [x, two, norm, norm, table, table, None, floats(batch, before, 8)]
    given += [two, floats(ratio, 16), floats(batch, length, heads)]
    given += [np.zeros((batch, length), np.int64), whole_[0] if whole_ else None]
    given.append(floats(2, batch, buffered, 16))
    return Case(given, {"compress_ratio": ratio, "index_topk": 5, "policy_mode": "csa"}, 3)


def indexer_in_a_row(r: Random) -> Case:
    tokens, heads, batch, ratio, room = sizes(r, 5)
    x, norm, table = floats(tokens, heads * 8), floats(8), floats(64, 4)
    ends, numbers = [whole(batch + 1), whole(batch)], {"compress_ratio": ratio}
    if r.random() < 0.5:
        given = [x, floats(tokens, 8), norm, norm, table, table, *ends, *(None,) * 4]
        given += [floats(batch, room, 8), floats(batch, 2 * ratio - 1, 8), None, whole(batch, 2)]
        given += [whole(batch)]
        numbers |= {"token_budget": 4 * ratio, "state_update_capacity": r.randint(1, 3)}
        numbers |= {"state_capacity": room}
        return Case(given, {**numbers, "policy_mode": "qsa"}, 7, left_out=(4,))
    two, state = floats(tokens, 16), floats(batch, 2 * ratio - 1, 16)
    given = [x, two, norm, norm, table, table, *ends, two, floats(ratio, 16)]
    given += [floats(tokens, heads), np.zeros(tokens, np.int64), floats(batch, room, 8)]
    given += [state, state, whole(batch, 2)]
    numbers |= {"index_topk": 5, "state_capacity": room}
    return Case(given, {**numbers, "policy_mode": "csa"}, 6)


def ordered_attention(r: Random) -> Case:
    batch, length, heads = sizes(r, 3)
    width = heads * 4
    w = bytes_(width, width, dtype=np.int8)
    given = [bytes_(batch, length, width, dtype=np.int8), ONE, ONE, ONE, ONE, w, w, w]
    given += [*(ONE,) * 3, *(floats(width),) * 3, *(ONE,) * 3]
    orders = dict.fromkeys(("order_input", "order_weight", "order_output"), 1)
    return Case(given, orders | {"num_heads": heads})


def ordered_longformer(r: Random) -> Case:
    batch, length, heads = sizes(r, 3)
    width = heads * 4
    x, w = (bytes_(*s, dtype=np.int8) for s in ((batch, length, width), (width, 3 * width)))
    bias = floats(3 * width)
    given = [x, ONE, w, ONE, bias, ONE, ONE, halves(batch, length), w, ONE, bias, ONE]
    names = ("order_input", "order_weight", "order_global_weight", "order_output", "window")
    numbers = dict.fromkeys(names, 1) | {"num_heads": heads}
    return Case([*given, whole(batch, length), ONE], numbers)


def without_padding(r: Random) -> Case:
    batch, length, width = sizes(r, 3)
    counts = np.array([r.randint(1, length) for _ in range(batch)], np.int32)
    return Case([floats(batch, length, width), counts], {}, 4, (1,))


def with_padding(r: Random) -> Case:
    batch, length, width = sizes(r, 3)
    return Case([floats(r.randint(1, batch * length), width), whole(batch, length)])


def gated_delta(r: Random) -> Case:
    batch, length, few, times, depth, value_depth = sizes(r, 6)
    heads = few * times
    state = floats(batch, heads, value_depth, depth)
    changes = r.randint(1, 3)
    numbers = {"update_rule": "linear", "state_update_capacity": changes}
    ends: list[Array | None] = [*(None,) * 3, state, None, None, whole(batch)]
    kind = r.randint(0, 2)
    outer = (batch, length) if kind else (batch * length,)
    if kind == 2:
        x = floats(batch * length, 2 * few * depth + heads * value_depth)
        return Case([x, None, None, *ends], numbers, 3)
    key = floats(*outer, few, depth)
    return Case([key, key, floats(*outer, heads, value_depth), *ends], numbers, 3)


def causal_in_a_row(r: Random) -> Case:
    tokens, channels, kernel = sizes(r, 3)
    batch, apart = r.randint(1, tokens), r.randint(1, 3)
    given = [floats(tokens, channels), floats(channels, 1, kernel), whole(batch + 1), None]
    given += [floats(batch, channels, (kernel - 1) * apart), whole(batch)]
    return Case(given, {"dilation": apart, "state_update_capacity": r.randint(1, 3)}, 3)


STATED: dict[str, Make] = {
    "CausalConvWithState": windowed(cases_with_states.causal),
    "DecoderAttention": decoder_attention,
    "DecoderMaskedSelfAttention": masked_self_attention,
    "DequantizeBFP": from_blocks,
    "DequantizeWithOrder": back_from_order,
    "DynamicSparseAttention": dynamic_sparse,
    "GatedDeltaNet": gated_delta,
    "LinearAttention": windowed(cases_with_states.linear),
    "MatMulBlockQuantizedFp4Weight": block_fp4,
    "MatMulBlockQuantizedFp8Weight": block_fp8,
    "MatMulNBitsMlp": mlp,
    "MatMulNBitsQkv": qkv,
    "PackedMultiHeadAttention": in_a_row,
    "PackedSparseAttentionIndexer": indexer_in_a_row,
    "PagedAttention": paged_or_latent,
    "QOrderedAttention": ordered_attention,
    "QOrderedLongformerAttention": ordered_longformer,
    "QuantizeWithOrder": with_order,
    "RemovePadding": without_padding,
    "RestorePadding": with_padding,
    "SparseAttentionIndexer": indexer,
    "SparsePagedAttention": sparse_paged,
    "VarlenCausalConvWithState": causal_in_a_row,
}
