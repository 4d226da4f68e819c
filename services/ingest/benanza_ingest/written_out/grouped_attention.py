"""ONNX Runtime's GroupQueryAttention behind the norms of its queries and keys, by head.

They are written as its model builder writes them for devices on which the operator has none; of
ONNX Runtime's own, those for processors have none either.
"""

import numpy as np

from benanza_ingest.resolving.graph import Node
from benanza_ingest.written_out.writing import WritingOut, attributes

NORM_OF_QUERIES, NORM_OF_KEYS = 14, 15
"""The places of the norms' weights."""

EPSILON = "qk_norm_epsilon"


def normalised(writing: WritingOut, node: Node) -> bool:
    """GroupQueryAttention with both norms. Packed queries, keys and values are split before."""
    given, inputs = attributes(node), (*node.inputs, *("",) * 16)[:16]
    of_queries, of_keys = inputs[NORM_OF_QUERIES], inputs[NORM_OF_KEYS]
    if not (of_queries and of_keys):
        return False
    epsilon = given.pop(EPSILON, 1e-6)
    heads = given["num_heads"], given["kv_num_heads"]
    query, key, value = inputs[:3]
    if not key:
        query, key, value = _split(writing, node, heads)
    query = _norm(writing, query, of_queries, heads[0], epsilon)
    key = _norm(writing, key, of_keys, heads[1], epsilon)
    read = (query, key, value, *inputs[3:NORM_OF_QUERIES])
    while not read[-1]:
        read = read[:-1]
    writing.put(node.op_type, read, node.outputs, domain=node.domain, **given)
    return True


def _split(writing: WritingOut, node: Node, heads: tuple[int, int]) -> list[str]:
    """The parts of what has the columns of all heads of queries, keys and values side by side."""
    packed = node.inputs[0]
    *before, width = writing.shape(packed)
    size = width // (heads[0] + 2 * heads[1])
    widths = [heads[0] * size, heads[1] * size, heads[1] * size]
    parts = [
        writing.value(f"{node.title()}/{name}", (*before, wide), writing.dtype(packed))
        for name, wide in zip(("query", "key", "value"), widths, strict=True)
    ]
    lengths = writing.number(np.array(widths, np.int64))
    writing.put("Split", (packed, lengths), tuple(parts), axis=-1)
    return parts


def _norm(writing: WritingOut, x: str, weights: str, heads: int, epsilon: float) -> str:
    """Rows of all heads, each normalised by the root of the mean of its squares."""
    shape, dtype = writing.shape(x), writing.dtype(x)
    by_head = (*shape[:-1], heads, shape[-1] // heads)
    rows = writing.add("Reshape", (x, writing.number(np.array(by_head, np.int64))), by_head, dtype)
    rows = writing.add(
        "SimplifiedLayerNormalization",
        (rows, weights),
        by_head,
        dtype,
        axis=-1,
        epsilon=epsilon,
        stash_type=1,
    )
    return writing.add("Reshape", (rows, writing.number(np.array(shape, np.int64))), shape, dtype)
