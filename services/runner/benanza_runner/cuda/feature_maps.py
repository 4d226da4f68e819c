"""Which of a region's operands and results are feature maps, with their channels first or last."""

from itertools import accumulate
from math import prod
from operator import mul

from benanza_runner.cuda.calls import Reduction, Region, Shape
from benanza_runner.cuda.calls.region import Given, Reshaped
from benanza_runner.cuda.layouts import depends_on_layout

RANKS = (4, 5)


def feature_maps(region: Region) -> frozenset[Shape]:
    """The shapes of the operands and results that may have their channels first or last.

    Where windows move over feature maps, the number of channels is known. A shape counts if it has
    the batch and the axes of space of a value with that many channels: maps of other channels are
    joined to such a value, or cut out of it.

    Elsewhere the shapes of four or five axes are sorted into sets with the same batch and axes of
    space. A set counts if each shape outside of it is one of its shapes as tokens, with the
    channels behind the axes of space. If that isn't so of exactly one set, as where a map becomes
    the heads of attention, a set counts if the region joins or divides its axes of space, and
    leaves its channels alone. If that isn't so of exactly one set either, no shape counts.
    """
    given = [value.shape for value in region.values if isinstance(value, Given)]
    results = [region.values[output].shape for output in region.outputs]
    candidates = {s for s in (*given, *results) if len(s) in RANKS and depends_on_layout(s)}
    if region.channels:
        shapes = [value.shape for value in region.values if len(value.shape) in RANKS]
        spaces = {_space(shape) for shape in shapes if shape[1] == region.channels}
        return frozenset(shape for shape in candidates if _space(shape) in spaces)
    choices = {
        frozenset(s for s in candidates if _space(s) == _space(shape)) for shape in candidates
    }
    maps = [choice for choice in choices if candidates - choice <= {_tokens(s) for s in choice}]
    if len(maps) != 1:
        maps = [choice for choice in choices if any(_is_divided(region, shape) for shape in choice)]
    return maps[0] if len(maps) == 1 else frozenset()


def _is_divided(region: Region, shape: Shape) -> bool:
    """Whether feature maps of this space are seen with its axes joined or divided."""
    for value in region.values:
        if isinstance(value, Reshaped):
            pair = region.values[value.input].shape, value.shape
            for one, other in (pair, pair[::-1]):
                alike = len(one) == len(shape) and _space(one) == _space(shape)
                if alike and _ends_alike(other, shape[2:]):
                    return True
    return False


def _ends_alike(shape: Shape, space: Shape) -> bool:
    """Whether the last axes of a shape have as many elements as these, and the last one others."""
    return prod(space) in accumulate(reversed(shape), mul) and shape[-1] != space[-1]


def reduces_feature_maps(call: Reduction) -> bool:
    """Whether what is reduced may have its channels first or last. Elsewhere it counts as rows: if
    it has fewer axes, or if the result has lost some and is still no matrix.
    """
    kept = len(call.output) == len(call.input)
    return len(call.input) >= min(RANKS) and (kept or len(call.output) <= 2)


def _space(shape: Shape) -> Shape:
    """The batch and the axes of space of feature maps of this shape."""
    return shape[0], *shape[2:]


def _tokens(shape: Shape) -> Shape:
    """The shape of feature maps with their channels behind the axes of space."""
    return shape[0], *shape[2:], shape[1]


def sorted_results(region: Region) -> list[Shape]:
    """The shapes of the results, those with the fewest axes first.

    A layer's identity and a model may give the results in different orders; what a candidate is
    called must not depend on that.
    """
    return sorted((region.values[output].shape for output in region.outputs), key=_rank_and_shape)


def _rank_and_shape(shape: Shape) -> tuple[int, Shape]:
    return len(shape), shape
