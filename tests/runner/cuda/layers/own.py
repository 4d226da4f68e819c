"""ONNX Runtime's own operators: products with packed weights, and what consists of ONNX's."""

from collections.abc import Mapping

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Tensor
from tests.runner.cuda.layers.more import fixed
from tests.runner.layers import floats, operator, single, weights

DOMAIN = "com.microsoft"


def packed(
    m: int,
    n: int,
    k: int,
    *,
    bits: int = 4,
    block: int = 32,
    zeros: bool = False,
    in_floats: bool = False,
    bias: bool = False,
    **more: AttributeValue,
) -> Layer:
    """MatMulNBits of twice m rows with n columns of k packed weights."""
    blocks = -(-k // block)
    inputs = [
        floats(2, m, k),
        Tensor("uint8", (n, blocks, block * bits // 8), constant=True),
        weights(n, blocks),
        weights(n, blocks)
        if in_floats
        else Tensor("uint8", (n, -(-blocks * bits // 8)), constant=True),
        weights(n),
    ]
    places = [0, 1, 2, 3 if zeros else -1, -1, 4 if bias else -1]
    used = sorted({place for place in places if place >= 0})
    at = {place: number for number, place in enumerate(used)} | {-1: -1}
    tensors = (*[inputs[place] for place in used], floats(2, m, n))
    written = (len(used),)
    sizes = {"K": k, "N": n, "bits": bits, "block_size": block}
    read = tuple(at[place] for place in places)
    node = operator("MatMulNBits", 1, read, written, DOMAIN, **sizes, **more)
    return canonical(Layer(tensors, (node,), written))


def coded(n: int, k: int, **more: AttributeValue) -> Layer:
    """MatMulBnb4 of three rows with n columns of k weights, which are codes of four bits."""
    codes = Tensor("uint8", (n * k // 2,), constant=True)
    sizes = {"K": k, "N": n, "block_size": 32}
    tensors = floats(3, k), codes, weights(n * k // 32)
    return single("MatMulBnb4", 1, tensors, (floats(3, n),), DOMAIN, **sizes, **more)


ROWS, SCALE = floats(3, 5, 64), weights(64)


def positions(*shape: int) -> Tensor:
    return Tensor("int64", shape)


def rotary(
    x: tuple[int, ...], rotated: int, named: Tensor, domain: str = DOMAIN, **more: AttributeValue
) -> Layer:
    """RotaryEmbedding of ONNX Runtime or of ONNX, of so many elements of each head."""
    table = weights(40, rotated // 2)
    if domain:
        return single(
            "RotaryEmbedding", 1, (floats(*x), named, table, table), (floats(*x),), domain, **more
        )
    return single(
        "RotaryEmbedding", 23, (floats(*x), table, table, named), (floats(*x),), domain, **more
    )


ROTARIES = {
    "rotary": rotary((2, 5, 48), 16, positions(2, 5)),
    "rotary of a token": rotary((2, 1, 48), 16, positions(1)),
    "rotary, interleaved": rotary((2, 5, 48), 16, positions(2, 5), interleaved=1),
    "rotary of a part": rotary((2, 5, 48), 8, positions(2, 5), num_heads=3, rotary_embedding_dim=8),
    "rotary of a part, interleaved": rotary(
        (1, 5, 48), 8, positions(1, 5), interleaved=1, num_heads=3, rotary_embedding_dim=8
    ),
    "rotary of heads": rotary((2, 3, 5, 16), 16, positions(2, 5)),
    "standard rotary": rotary((2, 5, 48), 16, positions(2, 5), "", num_heads=3),
    "standard rotary of heads, interleaved": rotary(
        (2, 3, 5, 16), 16, positions(2, 5), "", interleaved=1
    ),
    "standard rotary of a part": rotary(
        (2, 3, 5, 16), 8, positions(2, 5), "", rotary_embedding_dim=8
    ),
    "standard rotary with a row for each token": single(
        "RotaryEmbedding",
        23,
        (floats(2, 5, 48), floats(2, 5, 8), floats(2, 5, 8)),
        (floats(2, 5, 48),),
        num_heads=3,
    ),
}


def multi_head(
    key: tuple[int, ...],
    *mask: Tensor,
    heads: int = 4,
    queries: int = 7,
    keys: tuple[int, ...] = (),
    bias: Tensor | None = None,
    **more: AttributeValue,
) -> Layer:
    """MultiHeadAttention of batches of two, with keys and values of this shape, a mask of keys of
    the shape `keys`, and a bias of all three.
    """
    q = floats(2, queries, 64)
    given = {0: q, 1: floats(*key), 2: floats(*key)}
    given |= {3: bias} if bias else {}
    given |= {4: Tensor("int32", keys)} if keys else {}
    given |= dict(zip((5,), mask, strict=False))
    at = {place: number for number, place in enumerate(given)}
    places = tuple([at.get(place, -1) for place in range(max(given) + 1)])
    tensors = (*given.values(), q)
    written = (len(tensors) - 1,)
    node = operator("MultiHeadAttention", 1, places, written, DOMAIN, num_heads=heads, **more)
    return canonical(Layer(tensors, (node,), written))


def grouped(
    batch: int,
    queries: int,
    keys: int,
    size: int = 16,
    *,
    packed: bool = False,
    rotated: int = 0,
    heads: int = 4,
    key_heads: int = 2,
    total: int = 0,
    stored: str = "",
    by_channel: bool = False,
    beside: Mapping[int, Tensor] | None = None,
    **more: AttributeValue,
) -> Layer:
    """GroupQueryAttention of so many new queries, with room for as many keys, and with further
    inputs by their places. The cache is stored as elements of this type, if not as floats.
    """

    def rows(count: int) -> Tensor:
        return floats(batch, queries, count * size)

    line = size // 2 if stored == "uint8" else size
    cache = Tensor(stored or "float32", (batch, key_heads, keys, line))
    result = rows(heads)
    new = [rows(heads + 2 * key_heads)] if packed else [result, rows(key_heads), rows(key_heads)]
    lengths = Tensor("int32", (batch,)), fixed(total or keys, dtype="int32", scalar=True)
    tables = [weights(keys + 3, rotated // 2)] * 2 if rotated else []
    given = dict(enumerate((*new, cache, cache, *lengths, *tables)))
    if packed:
        given = {place + 2 if place else 0: tensor for place, tensor in given.items()}
    if stored:
        given |= dict.fromkeys(
            (12, 13), weights(*((1, key_heads, 1, size) if by_channel else (1,)))
        )
        kind = "PER_CHANNEL" if by_channel else "PER_TENSOR"
        bits = 4 if stored == "uint8" else 8
        more = {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": bits, **more}
    given |= beside or {}
    at = {place: number for number, place in enumerate(given)}
    places = tuple([at.get(place, -1) for place in range(max(given) + 1)])
    tensors = (*given.values(), result, cache, cache)
    written = range(len(given), len(tensors))
    attributes = {"num_heads": heads, "kv_num_heads": key_heads, "do_rotary": int(rotated > 0)}
    node = operator("GroupQueryAttention", 1, places, tuple(written), DOMAIN, **attributes, **more)
    return canonical(Layer(tensors, (node,), tuple(written)))


GROUPED = {
    "grouped attention of a token": grouped(2, 1, 9),
    "grouped attention of a packed token": grouped(2, 1, 9, packed=True),
    "grouped attention of a rotated token": grouped(2, 1, 9, packed=True, rotated=16),
    "grouped attention of a token, rotated as neighbours": grouped(
        2, 1, 9, rotated=16, rotary_interleaved=1
    ),
    "grouped attention of a token, rotated in part": grouped(
        1, 1, 9, 32, packed=True, rotated=16, scale=0.4
    ),
    "grouped attention of a token, neighbours rotated in part": grouped(
        1, 1, 9, 32, rotated=16, rotary_interleaved=1
    ),
    "grouped attention of a prompt": grouped(2, 9, 9, packed=True, rotated=16),
    "grouped attention of a prompt that is not rotated": grouped(2, 9, 9, packed=True),
    "grouped attention of a prompt to all of it": grouped(2, 9, 9, rotated=16, causal=0),
    "grouped attention of tokens behind others": grouped(1, 3, 9, rotated=16),
    "grouped attention of a token, long": grouped(
        2, 1, 300, 64, packed=True, rotated=64, heads=8, local_window_size=300
    ),
    "grouped attention of tokens, long": grouped(1, 4, 300, 128, rotated=128, heads=8),
    "grouped attention of a long prompt": grouped(1, 150, 150, 64, packed=True, rotated=64),
    "grouped attention of a token with a cap": grouped(2, 1, 9, rotated=16, softcap=0.5),
    "grouped attention of a prompt with a cap": grouped(2, 9, 9, packed=True, softcap=0.5),
    "grouped attention of a token with a cap, long": grouped(
        1, 1, 300, 256, packed=True, rotated=256, softcap=0.5
    ),
    "grouped attention of a token in a window": grouped(
        2, 1, 9, packed=True, rotated=16, local_window_size=4
    ),
    "grouped attention of a prompt in windows": grouped(2, 9, 9, rotated=16, local_window_size=4),
    "grouped attention of tokens in windows behind others": grouped(
        1, 3, 9, rotated=16, local_window_size=4
    ),
    "grouped attention of a token in a long window": grouped(
        2, 1, 700, 64, packed=True, rotated=64, heads=8, local_window_size=512
    ),
    "grouped attention of tokens in long windows": grouped(
        1, 4, 400, 128, rotated=128, heads=8, local_window_size=200
    ),
    "grouped attention of a long prompt in windows": grouped(
        1, 300, 300, 64, packed=True, rotated=64, local_window_size=100
    ),
    "grouped attention of a token with sinks": grouped(
        2, 1, 9, packed=True, rotated=16, beside={11: weights(4)}
    ),
    "grouped attention of a prompt with sinks": grouped(
        2, 9, 9, rotated=16, beside={11: floats(4)}
    ),
    "grouped attention of a token with sinks, long": grouped(
        1, 1, 700, 64, packed=True, heads=16, local_window_size=128, beside={11: weights(16)}
    ),
    "grouped attention of a long prompt with sinks": grouped(
        1, 150, 150, 64, heads=16, local_window_size=128, beside={11: weights(16)}
    ),
    "grouped attention of tokens with sinks, a cap and windows": grouped(
        1, 4, 300, 64, heads=8, local_window_size=100, softcap=0.5, beside={11: weights(8)}
    ),
    "grouped attention of a token with a sink of zero": grouped(2, 1, 9, smooth_softmax=1),
    "grouped attention of tokens with a bias": grouped(
        1, 3, 9, rotated=16, beside={10: floats(1, 4, 3, 9)}
    ),
    "grouped attention of a token with a bias in a window, long": grouped(
        2, 1, 300, 64, heads=8, local_window_size=100, beside={10: floats(2, 1, 1, 300)}
    ),
}

CODES = {"int8": "int8", "float8": "float8e4m3fn", "int4": "uint8"}

GROUPED |= {
    "grouped attention with room for more keys": grouped(2, 1, 40, rotated=16, total=9),
    "grouped attention of tokens in a window, with room": grouped(
        1, 3, 40, 64, packed=True, rotated=64, total=30, local_window_size=8
    ),
    "grouped attention of a token with a bias, with room": grouped(
        1, 1, 400, 64, total=300, beside={10: floats(1, 4, 1, 300)}
    ),
}
for _name, _dtype in CODES.items():
    GROUPED |= {
        f"grouped attention of a token to {_name}": grouped(
            2, 1, 9, packed=True, rotated=16, stored=_dtype
        ),
        f"grouped attention of a token to {_name} by channel": grouped(
            2, 1, 20, stored=_dtype, by_channel=True, total=9
        ),
        f"grouped attention of a prompt to {_name}": grouped(
            2, 9, 9, rotated=16, stored=_dtype, by_channel=True
        ),
        f"grouped attention of tokens in windows to {_name}": grouped(
            1, 3, 9, rotated=16, stored=_dtype, local_window_size=4, softcap=0.5
        ),
        f"grouped attention of a token to {_name}, long": grouped(
            2, 1, 700, 64, packed=True, rotated=64, heads=8, stored=_dtype, by_channel=True
        ),
        f"grouped attention of tokens to {_name}, long": grouped(
            1, 4, 400, 128, rotated=128, heads=8, stored=_dtype, total=300, beside={11: weights(8)}
        ),
    }


def paged(
    tokens: int,
    sequences: int,
    blocks: int,
    width: int,
    *,
    block: int = 16,
    size: int = 16,
    heads: int = 4,
    key_heads: int = 2,
    packed: bool = False,
    rotated: int = 0,
    stored: str = "",
    by_channel: bool = False,
    beside: Mapping[int, Tensor] | None = None,
    **more: AttributeValue,
) -> Layer:
    """PagedAttention of so many new tokens of sequences, with a cache of so many blocks and a table
    of this width, and with further inputs by their places.
    """

    def rows(count: int) -> Tensor:
        return floats(tokens, count * size)

    line = size // 2 if stored == "uint8" else size
    cache = Tensor(stored or "float32", (blocks, block, key_heads, line))
    new = [rows(heads + 2 * key_heads)] if packed else [rows(heads), *[rows(key_heads)] * 2]
    given = dict(enumerate(new)) | {3: cache, 4: cache}
    lengths = ((sequences + 1,), (sequences,), (sequences, width))
    given |= {5 + place: Tensor("int32", shape) for place, shape in enumerate(lengths)}
    given |= dict.fromkeys((8, 9), weights(width * block, rotated // 2)) if rotated else {}
    if stored:
        scales = weights(*((key_heads, 1, size) if by_channel else (1,)))
        given |= dict.fromkeys((14, 15), scales)
        kind = "PER_CHANNEL" if by_channel else "PER_TENSOR"
        code = {"uint8": "int4"}.get(stored, stored)
        more = {"k_quant_type": kind, "v_quant_type": kind, **more}
        more = {"k_cache_dtype": code, "v_cache_dtype": code, **more}
    given |= beside or {}
    at = {place: number for number, place in enumerate(given)}
    places = tuple([at.get(place, -1) for place in range(max(given) + 1)])
    tensors = (*given.values(), rows(heads), cache, cache)
    written = tuple(range(len(given), len(tensors)))
    attributes = {"num_heads": heads, "kv_num_heads": key_heads, "do_rotary": int(rotated > 0)}
    node = operator("PagedAttention", 1, places, written, DOMAIN, **attributes, **more)
    return canonical(Layer(tensors, (node,), written))


PAGED = {
    "paged attention of a token each": paged(3, 3, 9, 4),
    "paged attention of rotated tokens": paged(4, 4, 20, 3, packed=True, rotated=16),
    "paged attention of sequences of different lengths": paged(8, 3, 9, 4, rotated=16),
    "paged attention of prompts": paged(70, 2, 8, 3, block=12, packed=True, rotated=16),
    "paged attention in windows with sinks and a cap": paged(
        3, 3, 9, 4, local_window_size=20, softcap=0.5, beside={11: weights(4)}
    ),
    "paged attention, long": paged(
        4, 4, 90, 20, block=32, size=64, heads=8, packed=True, rotated=64
    ),
    "paged attention of several tokens, long": paged(
        10, 3, 90, 20, size=128, heads=8, rotated=128, local_window_size=130
    ),
}
for _name, _dtype in CODES.items():
    PAGED |= {
        f"paged attention to {_name}": paged(5, 3, 9, 4, rotated=16, stored=_dtype),
        f"paged attention to {_name} by channel, long": paged(
            4, 4, 90, 20, block=32, size=64, heads=8, stored=_dtype, by_channel=True
        ),
    }


def packed_heads(packed: tuple[int, ...], *query: Tensor, **more: AttributeValue) -> Layer:
    """MultiHeadAttention of what is packed by batch, token, head, kind and column."""
    inputs, result = (*query, floats(*packed)), floats(packed[0], 7, 64)
    return single("MultiHeadAttention", 1, inputs, (result,), DOMAIN, num_heads=4, **more)


MULTI_HEADS = {
    "multi-head attention": multi_head((2, 9, 64)),
    "multi-head attention, scaled and masked": multi_head(
        (2, 9, 64), floats(1, 4, 7, 9), scale=0.3
    ),
    "multi-head attention of keys by head": multi_head((2, 4, 9, 16)),
    "multi-head attention of keys by head with a bias": multi_head(
        (2, 4, 9, 16), bias=weights(192)
    ),
    "multi-head attention, packed": packed_heads((2, 7, 4, 3, 16)),
    "multi-head attention, packed and causal": packed_heads((2, 7, 4, 3, 16), unidirectional=1),
    "multi-head attention of packed keys": packed_heads((2, 9, 4, 2, 16), floats(2, 7, 64)),
    "multi-head attention with a mask of keys": multi_head((2, 9, 64), keys=(2, 9)),
    "multi-head attention of few queries with a mask of keys": multi_head(
        (2, 300, 64), queries=3, heads=1, keys=(2, 300)
    ),
    "multi-head attention with a bias": multi_head((2, 9, 64), bias=weights(192)),
    "multi-head attention of few queries with a bias": multi_head(
        (2, 300, 64), queries=3, heads=1, bias=weights(192)
    ),
    "multi-head attention of one query with a bias": multi_head(
        (2, 30, 64), queries=1, heads=1, bias=weights(192)
    ),
    "multi-head attention with lengths": multi_head((2, 7, 64), keys=(2,)),
    "multi-head attention of one query by head": multi_head(
        (2, 4, 300, 16), floats(2, 1, 1, 300), queries=1
    ),
    "causal multi-head attention": multi_head((2, 7, 64), unidirectional=1),
}


def projected(
    *beside: tuple[int, Tensor],
    bias: bool = True,
    sizes: tuple[int, ...] = (),
    **more: AttributeValue,
) -> Layer:
    """Attention of two sequences of nine tokens, with weights, and further inputs by place."""
    wide = sum(sizes) or 192
    given = {0: floats(2, 9, 48), 1: weights(48, wide)}
    given |= {2: weights(wide)} if bias else {}
    given |= dict(beside)
    at = {place: number for number, place in enumerate(given)}
    read = tuple([at.get(place, -1) for place in range(max(given) + 1)])
    result = floats(2, 9, sizes[2] if sizes else 64)
    attributes = {"num_heads": 4} | ({"qkv_hidden_sizes": sizes} if sizes else {})
    node = operator("Attention", 1, read, (len(given),), DOMAIN, **attributes, **more)
    return canonical(Layer((*given.values(), result), (node,), (len(given),)))


PROJECTED = {
    "projected attention": projected(),
    "projected attention, causal": projected(unidirectional=1, scale=0.4),
    "projected attention of other values": projected(sizes=(64, 64, 32)),
    "projected attention with lengths": projected((3, Tensor("int32", (2,)))),
    "projected attention with a mask": projected((3, Tensor("int32", (2, 9)))),
    "projected attention with a mask of queries": projected((3, Tensor("int32", (2, 9, 9)))),
    "projected attention with a bias of scores": projected((5, floats(1, 4, 9, 9))),
}

OF_SEVERAL_ROWS = {
    "packed product of a dozen rows": packed(6, 200, 512),
    "packed product of sixty-four rows": packed(32, 96, 640, block=128),
    "packed product of several rows and a large matrix": packed(8, 4224, 4096, zeros=True),
    "packed product of several rows with bias": packed(
        20, 136, 384, block=64, zeros=True, bias=True
    ),
    "packed product of several rows, odd": packed(17, 77, 264, zeros=True),
    "packed product of several rows, eight bits": packed(9, 50, 224, bits=8, bias=True),
    "packed product of several rows, eight bits with zero points": packed(
        31, 100, 1096, bits=8, block=64, zeros=True
    ),
}


def embedded(
    *, segments: bool = True, mask: bool = False, places: bool = False, written: int = 1
) -> Layer:
    """EmbedLayerNormalization of two sequences of five words, with as many of its results."""
    ids, rows = Tensor("int32", (2, 5)), floats(2, 5, 64)
    given = {0: ids, 2: weights(40, 64), 3: weights(9, 64), 5: weights(64), 6: weights(64)}
    given |= {1: ids, 4: weights(3, 64)} if segments else {}
    given |= {7: ids} if mask else {}
    given |= {8: Tensor("int32", (1, 5))} if places else {}
    at = {place: number for number, place in enumerate(given)}
    read = tuple([at.get(place, -1) for place in range(max(given) + 1)])
    results = (rows, Tensor("int32", (2,)), rows)[:written]
    made = tuple(range(len(given), len(given) + written))
    node = operator("EmbedLayerNormalization", 1, read, made, DOMAIN, epsilon=1e-5)
    return canonical(Layer((*given.values(), *results), (node,), made))


EMBEDDED = {
    "embedding": embedded(),
    "embedding without segments": embedded(segments=False),
    "embedding with places": embedded(places=True),
    "embedding with a mask": embedded(mask=True, written=2),
    "embedding with a mask and its sum": embedded(mask=True, written=3),
}

OWN = (
    ROTARIES
    | EMBEDDED
    | MULTI_HEADS
    | GROUPED
    | PAGED
    | PROJECTED
    | OF_SEVERAL_ROWS
    | {
        "packed product of a row": packed(1, 24, 128),
        "packed product of rows": packed(7, 40, 96),
        "packed product of many rows": packed(40, 24, 64),
        "packed product with zero points": packed(1, 24, 96, zeros=True),
        "packed product with zero points in floats": packed(
            2, 24, 96, zeros=True, in_floats=True, bias=True
        ),
        "packed product of rows with zero points in floats": packed(
            7, 40, 128, block=64, zeros=True, in_floats=True
        ),
        "coded product": coded(24, 96, quant_type=0),
        "coded product of quantiles": coded(17, 64, quant_type=1),
        "packed product with bias": packed(3, 24, 64, block=64, zeros=True, bias=True),
        "packed product of eight bits": packed(2, 24, 96, bits=8),
        "packed product of eight bits with zero points": packed(2, 24, 96, bits=8, zeros=True),
        "packed product of an odd length": packed(2, 17, 77, zeros=True),
        "packed product of rounded rows": packed(1, 24, 128, accuracy_level=4),
        "skip layer norm": single(
            "SkipLayerNormalization",
            1,
            (ROWS, ROWS, SCALE, weights(64), weights(64)),
            (ROWS,),
            DOMAIN,
            epsilon=1e-5,
        ),
        "skip layer norm of what is repeated": single(
            "SkipLayerNormalization",
            1,
            (ROWS, floats(1, 5, 64), SCALE, weights(64)),
            (ROWS,),
            DOMAIN,
        ),
        "skip rms norm": single(
            "SkipSimplifiedLayerNormalization",
            1,
            (ROWS, ROWS, SCALE),
            (ROWS,),
            DOMAIN,
            epsilon=1e-6,
        ),
        "skip rms norm and sum": canonical(
            Layer(
                (ROWS, ROWS, SCALE, ROWS, ROWS),
                (
                    operator(
                        "SkipSimplifiedLayerNormalization",
                        1,
                        (0, 1, 2),
                        (3, -1, -1, 4),
                        DOMAIN,
                        epsilon=1e-6,
                    ),
                ),
                (3, 4),
            )
        ),
        "simplified layer norm": single(
            "SimplifiedLayerNormalization", 1, (ROWS, SCALE), (ROWS,), axis=-1, epsilon=1e-6
        ),
        "own quantisation": single(
            "QuantizeLinear",
            1,
            (ROWS, weights(64), Tensor("uint8", (64,), constant=True)),
            (Tensor("uint8", (3, 5, 64)),),
            DOMAIN,
            axis=2,
        ),
        "own quantisation to 16 bits": single(
            "QuantizeLinear",
            1,
            (ROWS, weights(), Tensor("uint16", (), constant=True)),
            (Tensor("uint16", (3, 5, 64)),),
            DOMAIN,
        ),
        "own dequantisation": single(
            "DequantizeLinear",
            1,
            (Tensor("int16", (3, 5, 64)), weights(), Tensor("int16", (), constant=True)),
            (ROWS,),
            DOMAIN,
        ),
        "own grid sampled": single(
            "GridSample",
            1,
            (floats(2, 3, 7, 9), floats(2, 4, 5, 2)),
            (floats(2, 3, 4, 5),),
            DOMAIN,
            mode="bilinear",
        ),
        "bias gelu": single("BiasGelu", 1, (ROWS, SCALE), (ROWS,), DOMAIN),
        "fast gelu": single("FastGelu", 1, (ROWS, SCALE), (ROWS,), DOMAIN),
        "quick gelu": single("QuickGelu", 1, (ROWS,), (ROWS,), DOMAIN),
        "quick gelu of another factor": single("QuickGelu", 1, (ROWS,), (ROWS,), DOMAIN, alpha=1.0),
        "own gelu": single("Gelu", 1, (ROWS,), (ROWS,), DOMAIN),
    }
)
