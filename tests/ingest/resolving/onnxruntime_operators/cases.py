"""Random nodes of ONNX Runtime's own operators, with inputs that ONNX Runtime takes."""

from typing import Any

import numpy as np

from tests.ingest.resolving.onnxruntime_operators import cases_with_states
from tests.ingest.resolving.onnxruntime_operators.drawing import (
    SCALE,
    ZERO,
    Array,
    Case,
    Make,
    Random,
    bytes_,
    floats,
    like,
    sizes,
    sparse_of,
)


def with_bias(r: Random) -> Case:
    shape = sizes(r, r.randint(1, 4))
    return Case([floats(*shape), floats(shape[-1])])


def fast_gelu(r: Random) -> Case:
    made = with_bias(r)
    return made if r.random() < 0.5 else Case(made.inputs[:1])


def fused_matmul(r: Random) -> Case:
    batch = sizes(r, r.randint(0, 2))
    m, k, n = sizes(r, 3)
    flips = {name: r.randint(0, 1) for name in ("transA", "transB")}
    a = (k, m) if flips["transA"] else (m, k)
    b = (n, k) if flips["transB"] else (k, n)
    outer = (1,) * len(batch) if r.random() < 0.3 else batch
    return Case([floats(*batch, *a), floats(*outer, *b)], flips | {"alpha": 0.5})


def fused_gemm(r: Random) -> Case:
    m, k, n = sizes(r, 3)
    flips = {name: r.randint(0, 1) for name in ("transA", "transB")}
    a = (k, m) if flips["transA"] else (m, k)
    b = (n, k) if flips["transB"] else (k, n)
    return Case([floats(*a), floats(*b), floats(n)], flips | {"activation": "Relu"})


def matmul_nbits(r: Random) -> Case:
    outer = sizes(r, r.randint(1, 3))
    bits, block = r.choice((4, 8)), r.choice((16, 32, 64))
    k, n = 8 * r.randint(1, 20), 4 * r.randint(1, 8)
    blocks = -(-k // block)
    weights = bytes_(n, blocks, block * bits // 8)
    given: list[Array | None] = [floats(*outer, k), weights, floats(n, blocks)]
    if r.random() < 0.5:
        given.append(bytes_(n, -(-blocks * bits // 8)))
    return Case(given, {"K": k, "N": n, "bits": bits, "block_size": block})


def dynamic_quantize_matmul(r: Random) -> Case:
    outer, k, n = sizes(r, r.randint(1, 3)), r.randint(1, 8), r.randint(1, 8)
    return Case([floats(*outer, k), bytes_(k, n), SCALE.reshape(1), ZERO.reshape(1)])


def matmul_integer_to_float(r: Random) -> Case:
    outer, k, n = sizes(r, r.randint(1, 3)), r.randint(1, 8), r.randint(1, 8)
    return Case([bytes_(*outer, k), bytes_(k, n), SCALE, SCALE])


def qgemm(r: Random) -> Case:
    m, k, n = sizes(r, 3)
    flips = {name: r.randint(0, 1) for name in ("transA", "transB")}
    a = (k, m) if flips["transA"] else (m, k)
    b = (n, k) if flips["transB"] else (k, n)
    given: list[Array | None] = [bytes_(*a), SCALE, ZERO, bytes_(*b), SCALE, ZERO]
    if r.random() < 0.5:
        given += [None, SCALE, ZERO]
    return Case(given, flips)


def window(r: Random, rank: int, image: tuple[int, ...]) -> dict[str, Any]:
    kernel = [r.randint(1, min(3, size)) for size in image]
    found: dict[str, Any] = {"kernel_shape": kernel}
    if r.random() < 0.7:
        found["strides"] = [r.randint(1, 3) for _ in range(rank)]
    kind = r.random()
    if kind < 0.4:
        found["pads"] = [r.randint(0, each - 1) for each in kernel * 2]
    elif kind < 0.6:
        found["auto_pad"] = r.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
    return found


def fused_conv(r: Random) -> Case:
    group, image = r.choice((1, 2)), (r.randint(3, 9), r.randint(3, 9))
    channels, filters = group * r.randint(1, 3), group * r.randint(1, 3)
    found = window(r, 2, image)
    x = floats(r.randint(1, 3), channels, *image)
    w = floats(filters, channels // group, *found["kernel_shape"])
    return Case([x, w], found | {"group": group, "activation": "Relu"})


def qlinear_conv(r: Random) -> Case:
    last, image = r.randint(0, 1), (r.randint(3, 9), r.randint(3, 9))
    channels, filters, batch = r.randint(1, 4), r.randint(1, 4), r.randint(1, 3)
    found = window(r, 2, image)
    x = bytes_(batch, *image, channels) if last else bytes_(batch, channels, *image)
    w = bytes_(filters, channels, *found["kernel_shape"])
    given: list[Array | None] = [x, SCALE, ZERO, w, SCALE, ZERO, SCALE, ZERO]
    return Case(given, found | {"channels_last": last})


def qlinear_pool(r: Random) -> Case:
    last, image = r.randint(0, 1), (r.randint(3, 9), r.randint(3, 9))
    found = window(r, 2, image) | {"ceil_mode": r.randint(0, 1), "channels_last": last}
    shape = (2, *image, 3) if last else (2, 3, *image)
    return Case([bytes_(*shape), SCALE, ZERO, SCALE, ZERO], found)


def global_pool(r: Random) -> Case:
    last = r.randint(0, 1)
    return Case([bytes_(*sizes(r, 4)), SCALE, ZERO, SCALE, ZERO], {"channels_last": last})


def nhwc_max_pool(r: Random) -> Case:
    image = (r.randint(3, 9), r.randint(3, 9))
    found = window(r, 2, image) | {"ceil_mode": r.randint(0, 1)}
    return Case([bytes_(2, *image, 3)], found)


def attention(r: Random) -> Case:
    batch, length, heads, depth = r.randint(1, 3), r.randint(1, 5), r.randint(1, 3), 4
    width, model = heads * depth, r.randint(2, 9)
    given = [floats(batch, length, model), floats(model, 3 * width), floats(3 * width)]
    if r.random() < 0.5:
        return Case(given, {"num_heads": heads})
    past = floats(2, batch, heads, r.randint(1, 4), depth)
    return Case([*given, None, past], {"num_heads": heads, "unidirectional": 1}, 2)


def qattention(r: Random) -> Case:
    batch, length, heads, depth = r.randint(1, 3), r.randint(1, 5), r.randint(1, 3), 8
    width = heads * depth
    x, w = bytes_(batch, length, width), bytes_(width, 3 * width)
    given: list[Array | None] = [x, w, floats(3 * width), SCALE, SCALE]
    return Case([*given, None, ZERO, ZERO], {"num_heads": heads})


def multi_head(r: Random) -> Case:
    batch, length, heads, depth = r.randint(1, 3), r.randint(1, 5), r.randint(1, 3), 4
    keys, value_depth = r.randint(1, 6), r.choice((4, 6))
    query = floats(batch, length, heads * depth)
    kind = r.randint(0, 2)
    if kind == 0:
        return Case(
            [query, floats(batch, keys, heads * depth), floats(batch, keys, heads * value_depth)],
            {"num_heads": heads},
        )
    if kind == 1:
        given = [query, floats(batch, heads, keys, depth), floats(batch, heads, keys, depth)]
        return Case(given, {"num_heads": heads})
    past = floats(batch, heads, r.randint(1, 4), depth)
    given = [query, floats(batch, length, heads * depth), floats(batch, length, heads * depth)]
    return Case([*given, None, None, None, past, past], {"num_heads": heads}, 3)


def grouped(r: Random) -> Case:
    batch, length, of_keys, depth = r.randint(1, 3), r.randint(1, 5), r.randint(1, 2), 8
    heads, before = of_keys * r.randint(1, 3), r.randint(0, 4)
    if before:
        length = 1
    total = before + length
    room = before + (r.choice((0, 3)) if before else 0)
    bits = r.choice((0, 8, 4))
    past = floats(batch, of_keys, room, depth)
    if bits:
        past = np.zeros((batch, of_keys, room, depth * bits // 8), "i1" if bits == 8 else "u1")
    lengths = np.full(batch, total - 1, np.int32)
    decides: list[Array | None] = [past, past, lengths, np.array(total, np.int32)]
    numbers: dict[str, Any] = {"num_heads": heads, "kv_num_heads": of_keys}
    if bits:
        scale = np.ones(1, np.float32)
        decides += [*[None] * 5, scale, scale]
        numbers |= dict.fromkeys(("k_quant_type", "v_quant_type"), "PER_TENSOR")
        numbers["kv_cache_bit_width"] = bits
    if r.random() < 0.5:
        packed = floats(batch, length, (heads + 2 * of_keys) * depth)
        return Case([packed, None, None, *decides], numbers, 3, (6,))
    of_key = floats(batch, length, of_keys * depth)
    given = [floats(batch, length, heads * depth), of_key, of_key, *decides]
    return Case(given, numbers, 3, (6,))


def rotary(r: Random) -> Case:
    batch, length, heads, depth = r.randint(1, 3), r.randint(1, 5), r.randint(1, 3), 8
    places = np.arange(length, dtype=np.int64).reshape(1, -1).repeat(batch, 0)
    tables = [floats(16, depth // 2)] * 2
    if r.random() < 0.5:
        return Case([floats(batch, heads, length, depth), places, *tables])
    return Case([floats(batch, length, heads * depth), places, *tables])


def skip_norm(r: Random) -> Case:
    shape = (r.randint(1, 3), r.randint(1, 5), r.randint(1, 9))
    return Case([floats(*shape), floats(*shape), floats(shape[-1]), floats(shape[-1])])


def skip_simplified(r: Random) -> Case:
    shape = (r.randint(1, 3), r.randint(1, 5), r.randint(1, 9))
    return Case([floats(*shape), floats(*shape), floats(shape[-1])])


def simplified(r: Random) -> Case:
    shape = sizes(r, r.randint(1, 4))
    return Case([floats(*shape), floats(shape[-1])], {"axis": -1})


def embed_norm(r: Random) -> Case:
    batch, length, width = r.randint(1, 3), r.randint(1, 5), r.randint(1, 9)
    ids = np.zeros((batch, length), np.int32)
    word, place = floats(7, width), floats(8, width)
    given: list[Array | None] = [ids, None, word, place, None, floats(width), floats(width)]
    if r.random() < 0.5:
        given.append(np.ones((batch, length), np.int32))
    return Case(given, {}, 2)


def qlinear_binary(r: Random) -> Case:
    shape = sizes(r, r.randint(1, 4))
    a, b = bytes_(*shape), bytes_(*sparse_of(r, shape))
    return Case([a, SCALE, ZERO, b, SCALE, ZERO, SCALE, ZERO])


def qlinear_unary(r: Random) -> Case:
    return Case([bytes_(*sizes(r, r.randint(1, 4))), SCALE, ZERO, SCALE, ZERO])


def qlinear_softmax(r: Random) -> Case:
    return Case(
        [bytes_(*sizes(r, r.randint(2, 4))), SCALE, ZERO, SCALE, ZERO], {"axis": -1, "opset": 13}
    )


def qlinear_where(r: Random) -> Case:
    shape = sizes(r, r.randint(1, 3))
    x, y = bytes_(*shape), bytes_(*sparse_of(r, shape))
    return Case([x > 3, x, SCALE, ZERO, y, SCALE, ZERO, SCALE, ZERO])


def qlinear_concat(r: Random) -> Case:
    shape, axis = sizes(r, r.randint(1, 4)), 0
    given: list[Array | None] = [SCALE, ZERO]
    axis = r.randrange(len(shape))
    for _ in range(r.randint(1, 4)):
        part = (*shape[:axis], r.randint(1, 5), *shape[axis + 1 :])
        given += [bytes_(*part), SCALE, ZERO]
    return Case(given, {"axis": axis})


def gather_blocks(r: Random) -> Case:
    block, bits = 16, r.choice((4, 8))
    rows, columns = r.randint(2, 8), 16 * r.randint(1, 4)
    indices = np.zeros(sizes(r, r.randint(0, 2)), np.int64)
    table = bytes_(rows, columns * bits // 8)
    numbers = {"gather_axis": 0, "quantize_axis": 1, "block_size": block, "bits": bits}
    return Case([table, indices, floats(rows, -(-columns // block))], numbers)


def dynamic_lstm(r: Random) -> Case:
    steps, batch, width, hidden = sizes(r, 4)
    both = r.randint(0, 1)
    ways = 1 + both
    w = bytes_(ways, width, 4 * hidden, dtype=np.int8)
    recurrent = bytes_(ways, hidden, 4 * hidden, dtype=np.int8)
    scale, zero = np.full(ways, SCALE), np.zeros(ways, np.int8)
    given: list[Array | None] = [floats(steps, batch, width), w, recurrent, None, None, None]
    given += [None, None, scale, zero, scale, zero]
    way = "bidirectional" if both else "forward"
    return Case(given, {"hidden_size": hidden, "direction": way}, 3)


def expand_dims(r: Random) -> Case:
    shape = sizes(r, r.randint(1, 4))
    axis = np.array(r.randint(-len(shape) - 1, len(shape)), np.int32)
    return Case([floats(*shape), axis], {}, 1, (1,))


def cdist(r: Random) -> Case:
    m, n, d = sizes(r, 3)
    return Case([floats(m, d), floats(n, d)], {"metric": "euclidean"})


def crop(r: Random) -> Case:
    rois, size = r.randint(1, 4), np.array([r.randint(1, 5), r.randint(1, 5)], np.int32)
    given = [floats(1, 3, 8, 8), floats(rois, 4), np.zeros(rois, np.int32), size]
    return Case(given, {}, 1, (3,))


def sample(r: Random) -> Case:
    return Case([floats(2, 3, 5, 5), floats(2, *sizes(r, 2), 2)])


def pad(r: Random) -> Case:
    shape = sizes(r, r.randint(1, 3))
    pads = np.array([r.randint(0, 2) for _ in range(2 * len(shape))])
    return Case([floats(*shape), pads], {}, 1, (1,))


def hashed(r: Random) -> Case:
    return Case([np.zeros(sizes(r, r.randint(1, 3)), np.int32)], {"positive": r.randint(0, 1)})


def repeat_block(r: Random) -> Case:
    batch, length, words = sizes(r, 3)
    return Case([np.zeros((batch, length + 2), np.int64), floats(batch, words)], {"ngram_size": 2})


def unfold(r: Random) -> Case:
    shape = sizes(r, r.randint(1, 3))
    size = r.randint(1, shape[-1])
    return Case([floats(*shape)], {"dim": -1, "size": size, "step": r.randint(1, 2)})


def quantize(r: Random) -> Case:
    return Case([floats(*sizes(r, r.randint(1, 4))), SCALE, ZERO])


def dequantize(r: Random) -> Case:
    return Case([bytes_(*sizes(r, r.randint(1, 4))), SCALE, ZERO])


def moe(r: Random) -> Case:
    rows, width, inner, experts = r.randint(1, 6), 8, 16, 2
    given = [floats(rows, width), floats(rows, experts), floats(experts, inner, width), None]
    return Case([*given, floats(experts, width, inner)], {"k": 1, "activation_type": "relu"})


def embedding(r: Random) -> Case:
    return Case([floats(5, r.randint(1, 9)), np.zeros(sizes(r, r.randint(1, 3)), np.int64)])


CASES: dict[str, Make] = {
    **cases_with_states.CASES,
    "Attention": attention,
    "BiasGelu": with_bias,
    "CDist": cdist,
    "CropAndResize": crop,
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLSTM": dynamic_lstm,
    "DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "EmbedLayerNormalization": embed_norm,
    "ExpandDims": expand_dims,
    "FastGelu": fast_gelu,
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "GatherBlockQuantized": gather_blocks,
    "Gelu": like(),
    "GridSample": sample,
    "GroupQueryAttention": grouped,
    "Inverse": lambda r: Case([np.eye(3, dtype=np.float32)]),
    "MatMulIntegerToFloat": matmul_integer_to_float,
    "MatMulNBits": matmul_nbits,
    "MoE": moe,
    "MultiHeadAttention": multi_head,
    "MurmurHash3": hashed,
    "NGramRepeatBlock": repeat_block,
    "NhwcMaxPool": nhwc_max_pool,
    "Pad": pad,
    "QAttention": qattention,
    "QGemm": qgemm,
    "QLinearAdd": qlinear_binary,
    "QLinearAveragePool": qlinear_pool,
    "QLinearConcat": qlinear_concat,
    "QLinearConv": qlinear_conv,
    "QLinearGlobalAveragePool": global_pool,
    "QLinearLeakyRelu": qlinear_unary,
    "QLinearMul": qlinear_binary,
    "QLinearSigmoid": qlinear_unary,
    "QLinearSoftmax": qlinear_softmax,
    "QLinearWhere": qlinear_where,
    "QuantizeLinear": quantize,
    "QuickGelu": like(),
    "RotaryEmbedding": rotary,
    "SampleOp": like(),
    "SimplifiedLayerNormalization": simplified,
    "SkipLayerNormalization": skip_norm,
    "SkipSimplifiedLayerNormalization": skip_simplified,
    "TransposeMatMul": fused_matmul,
    "Trilu": like(rank=3),
    "UnfoldTensor": unfold,
}
"""For each operator that ONNX Runtime runs on a CPU."""
