"""Operators that attend: each rank has some of the heads, and the caches of these."""

from collections.abc import Callable
from math import prod

from benanza_ingest.deriving.parallel.along import CannotKeepError, FinerError
from benanza_ingest.deriving.parallel.reading import Reading

_OWN = "com.microsoft"


def _heads(reading: Reading, slot: int, axis: int) -> None:
    """Has an input split by heads, which lie one after another along the axis."""
    if reading.has(slot):
        reading.need(slot, axis, (reading.shape(slot)[axis],))


def _caches(reading: Reading, *slots: int) -> None:
    """Former keys and values, of (batch, heads, places, columns)."""
    for slot in slots:
        _heads(reading, slot, 1)


def _scales(reading: Reading, axis: int, *slots: int) -> None:
    """Those of a quantised cache: one, or by head along the axis."""
    for slot in slots:
        shape = reading.shape(slot) if reading.has(slot) else ()
        if prod(shape) == 1 and reading.has(slot):
            reading.whole(slot)
        elif len(shape) > axis:
            _heads(reading, slot, axis)
        elif shape:
            raise CannotKeepError("the scales of its cache are not by head")


def _mask(reading: Reading, slot: int) -> None:
    """What is added to scores, or says which of them count: maybe for each head."""
    if reading.has(slot):
        shape = reading.shape(slot)
        if len(shape) == 4 and shape[1] != 1:
            _heads(reading, slot, 1)
        else:
            reading.whole(slot)


def _keep_heads(reading: Reading, position: int, axis: int) -> None:
    if position < len(reading.node.outputs) and reading.node.outputs[position]:
        reading.keep(axis, (reading.result(position)[axis],), position, scale=0)


def _of_onnx(reading: Reading) -> None:
    """Attention of ONNX: heads are the second axis, or lie in the last one of three."""
    if len(reading.node.outputs) > 3 and reading.node.outputs[3]:
        raise CannotKeepError("it returns its scores")
    for slot in (0, 1, 2):
        _heads(reading, slot, 1 if len(reading.shape(slot)) == 4 else 2)
    _mask(reading, 3)
    _caches(reading, 4, 5)
    reading.whole(6)
    reading.divide("q_num_heads")
    reading.divide("kv_num_heads")
    _keep_heads(reading, 0, 1 if len(reading.result()) == 4 else 2)
    for position in (1, 2):
        _keep_heads(reading, position, 1)


def _rows(reading: Reading, axis: int, heads: int, groups: int) -> None:
    """Queries, keys and values, whose heads lie along the last axis, or all three in one input."""
    if reading.has(1):
        for slot in (0, 1, 2):
            _heads(reading, slot, axis)
        return
    width = reading.shape(0)[axis] // (heads + 2 * groups)
    sizes = heads * width, groups * width, groups * width
    state = reading.state(0)
    if state is not None and state.segments != sizes:
        raise FinerError((sizes[0], sizes[0] + sizes[1]), "it reads a fused product")
    reading.need(0, axis, sizes)


def _grouped(reading: Reading) -> None:
    """GroupQueryAttention, whose queries, keys and values may lie in one input."""
    heads, groups = reading.attribute("num_heads", 0), reading.attribute("kv_num_heads", 0)
    if not heads or not groups:
        raise CannotKeepError("it has no heads")
    reading.divide("num_heads")
    reading.divide("kv_num_heads")
    _rows(reading, 2, heads, groups)
    _caches(reading, 3, 4)
    reading.whole(5, 6, 7, 8, 9)
    _mask(reading, 10)
    _heads(reading, 11, 0)
    _scales(reading, 1, 12, 13)
    if any(reading.has(slot) for slot in range(14, len(reading.node.inputs))):
        raise CannotKeepError("it normalises queries and keys")
    _keep_heads(reading, 0, 2)
    for position in (1, 2):
        _keep_heads(reading, position, 1)


def _multi_head(reading: Reading) -> None:
    """MultiHeadAttention with queries, keys and values apart."""
    if not reading.has(1) or not reading.has(2) or len(reading.shape(0)) != 3:
        raise CannotKeepError("its queries, keys and values lie in one input")
    reading.divide("num_heads")
    for slot in (0, 1, 2):
        _heads(reading, slot, 1 if len(reading.shape(slot)) == 4 else 2)
    if reading.has(3):  # those of queries, keys and values, one after another
        widths = [reading.shape(slot)[-1] for slot in (0, 1, 2)]
        reading.need(3, 0, tuple(widths))
    reading.whole(4)
    _mask(reading, 5)
    _caches(reading, 6, 7)
    if any(reading.has(slot) for slot in range(8, len(reading.node.inputs))):
        raise CannotKeepError("its caches are buffers of another form")
    _keep_heads(reading, 0, 2)
    for position in (1, 2):
        _keep_heads(reading, position, 1)


def _rotary(reading: Reading) -> None:
    """RotaryEmbedding: heads are the second of four axes, or lie in the last one of three."""
    reading.whole(*range(1, len(reading.node.inputs)))
    state = reading.split()
    if state.axis != (1 if len(reading.shape(0)) == 4 else 2):
        raise CannotKeepError("an axis other than that of heads is split")
    reading.divide("num_heads")
    reading.keep(state.axis, state.segments)


ATTENTION: dict[tuple[str, str], Callable[[Reading], None]] = {
    ("", "Attention"): _of_onnx,
    ("", "RotaryEmbedding"): _rotary,
    (_OWN, "GroupQueryAttention"): _grouped,
    (_OWN, "MultiHeadAttention"): _multi_head,
    (_OWN, "RotaryEmbedding"): _rotary,
}
