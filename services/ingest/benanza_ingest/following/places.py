"""Where the batch is within a tensor: in which axis, and how much of the axis is below it.

Sizes are those of the model at its own batch size, `former`. An axis may hold more than the batch:
of the 64 windows of each of `former` images, in one axis, the batch is the outer part, so that 64
elements are below it.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple


class BatchPlace(NamedTuple):
    """An axis, and the number of its elements below the batch; None if that isn't known."""

    axis: int
    inner: int | None


def scaled_axis(own: Sequence[int], new: Sequence[int], former: int, batch: int) -> int | None:
    """The only axis whose size differs, if it grew as the batch did; None if there is no such."""
    if len(own) != len(new):
        return None
    changed = [axis for axis, sizes in enumerate(zip(own, new, strict=True)) if len(set(sizes)) > 1]
    if len(changed) != 1 or new[changed[0]] * former != own[changed[0]] * batch:
        return None
    return changed[0]


def seen_as(
    place: BatchPlace, sizes: Sequence[int], seen: Sequence[int], former: int
) -> list[BatchPlace]:
    """The places where the batch can be in a tensor of `sizes` if it is seen as one of `seen`.

    There is one if the batch lies within an axis, several if it lies where axes meet, none if it
    would lie across axes. An axis of which it isn't known where the batch is must stay whole.
    """
    rest = prod(sizes[place.axis + 1 :])
    places = []
    for axis, size in enumerate(seen):
        after = prod(seen[axis + 1 :])
        if place.inner is None:
            if size == sizes[place.axis] and after == rest:
                places.append(BatchPlace(axis, None))
            continue
        distance = place.inner * rest  # between an element of the batch and the next
        if not after or not distance or distance % after or size * after % (distance * former):
            continue
        places.append(BatchPlace(axis, distance // after))
    return places


def plain_place(
    place: BatchPlace, sizes: Sequence[int], seen: Sequence[int], former: int
) -> BatchPlace | None:
    """The one of the places of `seen_as` that a model plainly means; None if no one can tell.

    At batch size 1 there may be several. A batch that comes first stays first, in an axis of its
    own if there is one. Elsewhere an axis of size 1 is taken for the batch only if there are as
    many of them as before.
    """
    places = seen_as(place, sizes, seen, former)
    if len(places) == 1:
        return places[0]
    alone = [option for option in places if seen[option.axis] == 1]
    if place.axis == 0 and sizes[0] == place.inner:
        return next((option for option in alone if len(alone) == 1 or option.axis == 0), None)
    left, right = _units(place, sizes)
    return alone[left] if len(alone) == left + right + 1 else None


def _units(place: BatchPlace, sizes: Sequence[int]) -> tuple[int, int]:
    """The number of axes of size 1 directly before the batch, and directly after it."""
    before = after = 0
    if sizes[place.axis] == place.inner:
        while before < place.axis and sizes[place.axis - before - 1] == 1:
            before += 1
    if place.inner == 1:
        while place.axis + after + 1 < len(sizes) and sizes[place.axis + after + 1] == 1:
            after += 1
    return before, after
