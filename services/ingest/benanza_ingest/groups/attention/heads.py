"""Matrices by any number of axes as matrices by batch and head, as ONNX's Attention has them."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

from benanza_ingest.groups.attention.layouts import Axis, Placed, Shape, cut, joined

KEPT = 1024
"""Answers that are kept, since the blocks of a model are alike."""

Factor = tuple[Axis, ...]
"""A part of the axes before the matrices, for each view: an axis of one piece, or of none."""


class Heads(NamedTuple):
    """Views with four axes each, of one piece at most: batch, head, row and column.

    The second and the third, keys and values, have `key_heads`; the others have `heads`.
    """

    batch: int
    heads: int
    key_heads: int
    views: tuple[Placed, ...]


@lru_cache(KEPT)
def by_head(views: tuple[Placed, ...], lead: Shape) -> Heads | None:
    """Views of queries, keys, values and others, all with axes `lead` before those of the matrices.

    The last axis of `lead` is that of the heads, where that works; the heads may also be those that
    an exporter merged with the batch. None if strides don't say where each head is.
    """
    if any(len(joined(axis)) > 1 for view in views for axis in view.axes[-2:]):
        return None
    leads = [joined(sum(view.axes[:-2], ())) for view in views]
    natural = lead[-1] if lead else 1
    for wanted in (natural, 1):
        sizes = _sizes(leads, prod(lead), wanted)
        factors = _factors(leads, sizes)
        for start in range(len(sizes) + 1):
            if factors is not None and wanted in (1, prod(sizes[start:])):
                heads = _arranged(views, sizes, factors, start)
                if heads is not None:
                    return heads
    return None


def _sizes(leads: Sequence[Axis], total: int, heads: int) -> Shape:
    """The sizes of as many parts as any of the views needs, outermost first."""
    ends = {1, heads, total}
    for lead in leads:
        below = 1
        for size, _ in reversed(lead):
            below *= size
            ends.add(below)
    ordered = sorted(ends, reverse=True)
    return tuple([one // other if one % other == 0 else 0 for one, other in pairwise(ordered)])


def _factors(leads: Sequence[Axis], sizes: Shape) -> list[Factor] | None:
    axes = [cut(lead, sizes) for lead in leads] if all(sizes) else [None]
    known = [axis for axis in axes if axis is not None]
    if len(known) < len(axes):
        return None
    return [tuple([axis[place] for axis in known]) for place in range(len(sizes))]


def _arranged(
    views: Sequence[Placed], sizes: Shape, factors: list[Factor], heads: int
) -> Heads | None:
    """The views by batch and head, if the heads are the factors from that position on."""
    shared = len(factors)
    while shared > heads and all(_is_repeated(axis) for axis in factors[shared - 1][1:3]):
        shared -= 1
    arranged = []
    for number, view in enumerate(views):
        own = [factor[number] for factor in factors]
        # Heads that share keys and values follow each other.
        counted = own[heads:shared] if number in (1, 2) else own[heads:]
        batch, head = (joined(sum(axes, ())) for axes in (own[:heads], counted))
        if len(batch) > 1 or len(head) > 1:
            return None
        arranged.append(Placed(view.offset, (batch, head, *map(joined, view.axes[-2:]))))
    batch_size, key_heads, shares = map(prod, (sizes[:heads], sizes[heads:shared], sizes[shared:]))
    return Heads(batch_size, key_heads * shares, key_heads, tuple(arranged))


def _is_repeated(axis: Axis) -> bool:
    return all(stride == 0 for _, stride in axis)
