"""How a value is split over ranks, and what a change of its shape makes of that."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod

import msgspec

Shape = tuple[int, ...]
Segments = tuple[int, ...]


class Along(msgspec.Struct, frozen=True):
    """A value that is split along an axis. A value without one is whole on each rank.

    The axis consists of `segments`, given by their sizes on the whole axis, and each rank has an
    equal part of each: of a fused weight of queries, keys and values it has some of each.
    `products` are the products that began the split, by their results' names. An element of the
    axis stands for so many columns (`scale`) of the only one of these; 0 where that can't be said.
    """

    axis: int
    segments: Segments
    products: frozenset[str]
    scale: int = 0


class CannotKeepError(Exception):
    """An operator that can't work on parts; the text says why."""


class FinerError(Exception):
    """The split would be kept if the axis had segments that begin at `starts`, too."""

    def __init__(self, starts: Sequence[int], why: str) -> None:
        super().__init__(why)
        self.starts = tuple(starts)


def checked(segments: Segments, ranks: int) -> Segments:
    """The segments. Raises `CannotKeepError` if they can't be divided by the number of ranks."""
    other = next((size for size in segments if size % ranks), 0)
    if other:
        raise CannotKeepError(f"{other:,} can't be divided by {ranks}")
    return segments


def starts_of(segments: Segments) -> tuple[int, ...]:
    """Where each segment begins, and where the last one ends."""
    return tuple(accumulate(segments, initial=0))


def reshaped(state: Along, before: Shape, after: Shape, ranks: int) -> Along:
    """How the value is split after its shape has changed from `before` to `after`.

    Raises `CannotKeepError`, and `FinerError` if other segments would help.
    """
    for old, new in _groups(before, after):
        if state.axis in old:
            return _within(state, before, after, old, new, ranks)
    raise CannotKeepError(f"{list(before)} is reshaped to {list(after)}")


def _groups(before: Shape, after: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Axes of one shape and those of the other that have the same elements, as few as possible.

    Axes of one are left out.
    """
    olds = [axis for axis, size in enumerate(before) if size != 1]
    news = [axis for axis, size in enumerate(after) if size != 1]
    if prod(before) != prod(after) or not prod(before):
        return
    while olds and news:
        old, new = [olds.pop(0)], [news.pop(0)]
        while (has := prod(before[i] for i in old)) != (wants := prod(after[i] for i in new)):
            if has < wants:
                old.append(olds.pop(0))
            else:
                new.append(news.pop(0))
        yield old, new


def _within(
    state: Along, before: Shape, after: Shape, old: list[int], new: list[int], ranks: int
) -> Along:
    place = old.index(state.axis)
    repeats = prod(before[axis] for axis in old[:place])
    inner = prod(before[axis] for axis in old[place + 1 :])
    # As if the axes were one.
    flat = tuple(size * inner for size in state.segments) * repeats
    for at, axis in enumerate(new):
        outer = prod(after[i] for i in new[:at])
        width = prod(after[i] for i in new[at + 1 :])
        if len(flat) % outer:
            continue
        pattern = flat[: len(flat) // outer]
        if pattern * outer != flat or any(size % (width * ranks) for size in pattern):
            continue
        first = repeats == outer == 1
        scale = state.scale * width // inner if first and state.scale * width % inner == 0 else 0
        segments = tuple(size // width for size in pattern)
        return Along(axis, segments, state.products, scale)
    for at, axis in enumerate(new):
        if len(old) == 1 and after[axis] % ranks == 0:
            step = before[state.axis] // prod(after[i] for i in new[:at])
            starts = range(0, before[state.axis], step)
            raise FinerError(starts, f"{after[new[0]]} can't be divided by {ranks}")
    sizes = " × ".join(str(after[axis]) for axis in new)
    raise CannotKeepError(f"none of {sizes} can be divided by {ranks}")
