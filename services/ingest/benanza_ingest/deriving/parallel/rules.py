"""Operators that keep a split: what each rank computes of one that reads parts.

A rule says so of a `Reading`. It raises `CannotKeepError` if the operator needs what other ranks
have, and `FinerError` if it wouldn't with other segments.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from benanza_ingest.deriving.parallel.along import (
    Along,
    CannotKeepError,
    FinerError,
    reshaped,
    starts_of,
)
from benanza_ingest.deriving.parallel.attention import ATTENTION
from benanza_ingest.deriving.parallel.reading import Reading
from benanza_schemas.operators.table import RESHAPING, facts_of, named

Rule = Callable[[Reading], None]

_OWN_ELEMENTWISE = frozenset(("BiasGelu", "FastGelu", "Gelu", "QuickGelu"))
_OTHER_WAYS = frozenset(("", "broadcast"))
_REDUCTIONS = named(lambda facts: facts.kind == "reduction")
SINCE_ONE_AXIS = 13
"""The first opset whose Softmax goes along one axis; before, it goes along all from one on."""


def rule_of(op_type: str, domain: str) -> Rule | None:
    """The operator's rule; None if it isn't known to keep a split."""
    rule = RULES.get((domain, op_type))
    if rule is not None:
        return rule
    facts = facts_of(op_type, domain)
    if domain:
        named_so = domain == "com.microsoft" and op_type in _OWN_ELEMENTWISE
        return _elementwise if named_so else None
    if op_type in RESHAPING:
        return _view
    if op_type in _REDUCTIONS and op_type.startswith("Reduce"):
        return _reduction
    if facts.kind == "element-wise" and facts.others in _OTHER_WAYS:
        return _elementwise
    return None


def _elementwise(reading: Reading) -> None:
    """Inputs are broadcast to one shape, axis by axis from the last one."""
    rank = len(reading.result())
    state = reading.split()
    slot = reading.states.index(state)
    axis = rank - len(reading.shape(slot)) + state.axis
    for other, name in enumerate(reading.node.inputs):
        if name:
            shape = reading.shape(other)
            place = axis - (rank - len(shape))
            if place >= 0 and shape[place] != 1:
                reading.need(other, place, state.segments)
            else:
                reading.whole(other)
    reading.keep(axis, state.segments)


def _of_first(reading: Reading) -> None:
    """As many elements as the first input, whatever the others say of all of them."""
    reading.whole(*range(1, len(reading.node.inputs)))
    state = reading.split()
    for position in range(len(reading.node.outputs)):
        reading.keep(state.axis, state.segments, position)


def _scaled(reading: Reading) -> None:
    """With one scale for all elements."""
    if any(np.prod(reading.shape(slot)) != 1 for slot in range(1, len(reading.node.inputs))):
        raise CannotKeepError("it has scales of its own for parts of a value")
    _of_first(reading)


def _view(reading: Reading) -> None:
    reading.whole(*range(1, len(reading.node.inputs)))
    after = reading.result()
    state = reshaped(reading.split(), reading.shape(0), after, reading.ranks)
    reading.keep(state.axis, state.segments, scale=state.scale)
    if reading.node.op_type == "Reshape":
        reading.kept.values[1] = _local(after, state, reading.ranks)


def _local(shape: tuple[int, ...], state: Along, ranks: int) -> np.ndarray:
    sizes = list(shape)
    sizes[state.axis] //= ranks
    return np.array(sizes, np.int64)


def _expand(reading: Reading) -> None:
    reading.whole(1)
    state, before, after = reading.split(), reading.shape(0), reading.result()
    axis = len(after) - len(before) + state.axis
    if after[axis] != before[state.axis]:
        raise CannotKeepError("the axis that is split is expanded")
    reading.keep(axis, state.segments)
    moved = Along(axis, state.segments, state.products)
    reading.kept.values[1] = _local(after, moved, reading.ranks)


def _tile(reading: Reading) -> None:
    reading.whole(1)
    state = reading.split()
    if reading.value(1)[state.axis] != 1:
        raise CannotKeepError("the axis that is split is repeated")
    reading.keep(state.axis, state.segments)


def _transpose(reading: Reading) -> None:
    state, rank = reading.split(), len(reading.result())
    order = list(reading.attribute("perm", range(rank)[::-1]))
    reading.keep(order.index(state.axis), state.segments)


def _split(reading: Reading) -> None:
    reading.whole(1)
    state, outputs = reading.split(), range(len(reading.node.outputs))
    axis = reading.attribute("axis", 0) % len(reading.shape(0))
    if axis != state.axis:
        for position in outputs:
            reading.keep(state.axis, state.segments, position)
        return
    if not all(reading.node.outputs):
        raise CannotKeepError("nothing reads some of its results")
    sizes = [reading.result(position)[axis] for position in outputs]
    starts = starts_of(tuple(sizes))
    for position, (start, end) in enumerate(pairwise(starts)):
        reading.keep(axis, _segments_between(state, start, end), position, scale=0)
    local = [size // reading.ranks for size in sizes]
    if reading.has(1):
        reading.kept.values[1] = np.array(local, np.int64)
    elif reading.attribute("split", None) is not None:
        reading.kept.attributes["split"] = local


def _segments_between(state: Along, start: int, end: int) -> tuple[int, ...]:
    starts = starts_of(state.segments)
    if start not in starts or end not in starts:
        raise FinerError((start, end), "it takes a part of the axis that is split")
    return state.segments[starts.index(start) : starts.index(end)]


def _slice(reading: Reading) -> None:
    if not reading.has(1) or not reading.has(2):
        raise CannotKeepError("it is of an opset before 10")
    reading.whole(1, 2, 3, 4)
    state, shape = reading.split(), reading.shape(0)
    starts, ends = reading.value(1).copy(), reading.value(2).copy()
    axes = reading.value(3) if reading.has(3) else np.arange(len(starts))
    places = [place for place, axis in enumerate(axes) if axis % len(shape) == state.axis]
    if not places:
        reading.keep(state.axis, state.segments)
        return
    if len(places) > 1:
        raise CannotKeepError("it names an axis twice")
    (place,) = places
    step = int(reading.value(4)[place]) if reading.has(4) else 1
    if step != 1:
        raise CannotKeepError("it goes along the axis that is split in steps")
    size = shape[state.axis]
    first, last, _ = slice(int(starts[place]), int(ends[place])).indices(size)
    segments = _segments_between(state, first, last)
    reading.keep(
        state.axis, segments, scale=reading.split().scale if segments == state.segments else 0
    )
    starts[place], ends[place] = first // reading.ranks, last // reading.ranks
    reading.kept.values |= {1: starts, 2: ends}


def _gather(reading: Reading) -> None:
    reading.whole(1)
    state, shape = reading.split(), reading.shape(0)
    axis = reading.attribute("axis", 0) % len(shape)
    if axis == state.axis:
        raise CannotKeepError("it chooses along the axis that is split")
    more = len(reading.shape(1)) - 1
    reading.keep(state.axis + more * (state.axis > axis), state.segments)


def _concat(reading: Reading) -> None:
    state, rank = reading.split(), len(reading.result())
    if reading.attribute("axis", 0) % rank != state.axis:
        for slot in range(len(reading.node.inputs)):
            reading.need(slot, state.axis, state.segments)
        reading.keep(state.axis, state.segments)
        return
    states = [each for each in reading.states if each is not None]
    if len(states) < len(reading.states) or {each.axis for each in states} != {state.axis}:
        raise CannotKeepError("it joins what is split with what is whole")
    joined = tuple(size for each in states for size in each.segments)
    reading.keep(state.axis, joined, scale=0)


def _appending(reading: Reading) -> None:
    """TensorScatter: the axis along which it writes isn't split."""
    state = reading.split()
    reading.whole(2)
    if reading.attribute("axis", -2) % len(reading.result()) == state.axis or not state.axis:
        raise CannotKeepError("it writes along the axis that is split")
    reading.need(0, state.axis, state.segments)
    reading.need(1, state.axis, state.segments)
    reading.keep(state.axis, state.segments)


def _apart(reading: Reading, axes: Iterable[int]) -> Along:
    """The split of the first input, which is not along these axes."""
    state = reading.state(0)
    if state is None:
        raise CannotKeepError("an input that it needs as a whole is split")
    rank = len(reading.shape(0))
    if state.axis in {axis % rank for axis in axes}:
        raise CannotKeepError("it needs all elements along the axis that is split")
    return state


def _softmax(reading: Reading) -> None:
    rank = len(reading.result())
    one = reading.opset >= SINCE_ONE_AXIS
    axis = reading.attribute("axis", -1 if one else 1) % rank
    state = _apart(reading, (axis,) if one else range(axis, rank))
    reading.keep(state.axis, state.segments)


def _norm(reading: Reading) -> None:
    reading.whole(*range(1, len(reading.node.inputs)))
    rank = len(reading.result())
    state = _apart(reading, range(reading.attribute("axis", -1) % rank, rank))
    for position in range(len(reading.node.outputs)):
        reading.keep(state.axis, state.segments, position)


def _reduction(reading: Reading) -> None:
    reading.whole(1)
    rank = len(reading.shape(0))
    axes = reading.value(1).tolist() if reading.has(1) else reading.attribute("axes", None)
    if not axes:
        raise CannotKeepError("it needs all elements along the axis that is split")
    state = _apart(reading, axes)
    gone = 0 if reading.attribute("keepdims", 1) else sum(a % rank < state.axis for a in axes)
    reading.keep(state.axis - gone, state.segments)


def _batched_product(reading: Reading) -> None:
    """A product of matrices of which some axis other than the one that is summed up is split."""
    ranks_of = [len(reading.shape(slot)) for slot in (0, 1)]
    rank = len(reading.result())
    if min(ranks_of) < 2:
        raise CannotKeepError("it is a product with a vector")
    axes = set()
    for slot, own, summed in ((0, ranks_of[0], 1), (1, ranks_of[1], 2)):
        state = reading.state(slot)
        if state is not None:
            if state.axis == own - summed:
                raise CannotKeepError("its sums go along the axis that is split")
            axes.add(rank - own + state.axis)
    if len(axes) > 1:
        raise CannotKeepError("its inputs are split in other ways")
    (axis,) = axes
    state = reading.split()
    for slot, own in enumerate(ranks_of):
        place = axis - (rank - own)
        if axis < rank - 2 and place >= 0 and reading.shape(slot)[place] != 1:
            reading.need(slot, place, state.segments)
    if axis >= rank - 2 and None not in reading.states[:2]:
        raise CannotKeepError("its inputs are split in other ways")
    reading.keep(axis, state.segments, scale=0)


RULES: dict[tuple[str, str], Rule] = {
    ("", "Cast"): _of_first,
    ("", "CastLike"): _elementwise,
    ("", "Concat"): _concat,
    ("", "DequantizeLinear"): _scaled,
    ("", "Dropout"): _of_first,
    ("", "Expand"): _expand,
    ("", "Gather"): _gather,
    ("", "Identity"): _of_first,
    ("", "LayerNormalization"): _norm,
    ("", "LogSoftmax"): _softmax,
    ("", "MatMul"): _batched_product,
    ("", "QuantizeLinear"): _scaled,
    ("", "RMSNormalization"): _norm,
    ("", "SimplifiedLayerNormalization"): _norm,
    ("", "Slice"): _slice,
    ("", "Softmax"): _softmax,
    ("", "Split"): _split,
    ("", "TensorScatter"): _appending,
    ("", "Tile"): _tile,
    ("", "Transpose"): _transpose,
    ("", "Where"): _elementwise,
    **ATTENTION,
}
