"""Which calls a bound adds up: a cover of the model, and the layout of each call."""

import math
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import chain, count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.blocks import Blocks, cheapest_blocks, contracted
from benanza_analyzer.layouts.conversions import between_us, conversions_us
from benanza_analyzer.layouts.costs import Field, layout_costs, writing_us
from benanza_analyzer.layouts.laid_out import Costs, LaidOut, cheapest_choices
from benanza_analyzer.layouts.places import PlacedBlocks, places_of
from benanza_analyzer.measurements import (
    BY_LIBRARY,
    FIRST,
    NAMES,
    SELECTIONS,
    WHICHEVER,
    Measurements,
)
from benanza_analyzer.models.architecture import Architecture, Counted
from benanza_analyzer.models.catalogue import NOTHING
from benanza_analyzer.models.contraction import Positions
from benanza_schemas.events import ImageLayout
from benanza_schemas.layer import Accounting

Floats = npt.NDArray[np.float64]


class CoverPlan(NamedTuple):
    """A cover with a layout for each block. All arrays have a value for each position.

    `layouts` are places in `SELECTIONS`, and so is `read`: what a block reads may lie in ONNX's own
    order, whatever its layout is. `times_us` holds each block's time at its last position, zero
    where the time isn't `known`. `converting_us` holds, over `SELECTIONS` and positions, the time
    of converting what a block writes between channels first and another layout. `conversion_us`
    holds the time of the layout conversions that a block causes, once for all its readers;
    `interleaved_conversion_us` holds the same with calls interleaved.
    """

    blocks: Blocks
    layouts: npt.NDArray[np.intp]
    read: npt.NDArray[np.intp]
    times_us: Floats
    converting_us: Floats
    conversion_us: Floats
    interleaved_conversion_us: Floats
    known: npt.NDArray[np.bool_]

    @property
    def sequential_us(self) -> float:
        """The sum of all calls and layout conversions, in microseconds, rounded once."""
        return math.fsum(chain(self.times_us.tolist(), self.conversion_us.tolist()))

    @property
    def lacking(self) -> int:
        """The number of counted layers that have no time."""
        return int(np.count_nonzero(~self.known))

    def between_us(self, sources: Positions, targets: Positions) -> Floats:
        """The time of the layout conversion between each of these blocks and its reader.

        Where a block's inputs and outputs are converted, both conversions count between the block
        and its readers.
        """
        return between_us(self.layouts, self.read, self.converting_us, sources, targets)

    def found(self, measurements: Measurements, field: str) -> Floats:
        """The values of a field of `Best` for the blocks that have a time."""
        numbers, layouts = self.blocks.numbers[self.known], self.layouts[self.known]
        return measurements.of(field)[layouts, numbers]

    def layout(self, measurements: Measurements) -> ImageLayout:
        """The layout of most of the blocks whose time depends on the layout; empty if none does, or
        they have times with channels first alone.
        """
        rows = list(measurements.layouts)
        medians_us = measurements.median_us[:, self.blocks.numbers]
        minds = self.known & (medians_us[rows] != medians_us[FIRST]).any(axis=0)
        minding = self.layouts[minds]
        if np.isinf(medians_us[rows[1:]][:, minds]).all() or not np.isin(minding, rows).all():
            return NAMES[WHICHEVER]
        numbers = [np.count_nonzero(minding == layout) for layout in rows]
        return NAMES[rows[int(np.argmax(numbers))]]


def cheapest_plans(
    model: Architecture, accounting: Accounting, measurements: Measurements
) -> tuple[CoverPlan, CoverPlan]:
    """The plans for the bounds without fusion and with it: those with the fewest layers missing,
    and of these the fastest. The measurements must reach as far as the catalogue.

    `paper` takes the libraries' times only. With fusion, the plan without groups is tried as well:
    not all covers are, where there are too many. What groups take moves nothing without fusion.
    """
    counted = model.counted(accounting)
    if accounting == "paper":
        return (
            _free(BY_LIBRARY, model, counted, False, measurements),
            _free(BY_LIBRARY, model, counted, True, measurements),
        )
    layouts_matter = _layouts_matter(counted.numbers, measurements)
    without_groups = _tried(layouts_matter, model, accounting, False, measurements)
    if not counted.components:
        return _cheapest(without_groups), _cheapest(without_groups)
    layouts_matter = layouts_matter or _layouts_matter(counted.block_numbers, measurements)
    grouped = _tried(layouts_matter, model, accounting, True, measurements)
    return _cheapest(without_groups), _cheapest(grouped + without_groups)


def _cheapest(plans: Iterable[CoverPlan]) -> CoverPlan:
    return min(plans, key=lambda plan: (plan.lacking, plan.sequential_us))


def _tried(
    layouts_matter: bool,
    model: Architecture,
    accounting: Accounting,
    fusion: bool,
    measurements: Measurements,
) -> list[CoverPlan]:
    """The plans of which the cheapest is taken; one if the time of no layer and no group depends on
    the layout.
    """
    if layouts_matter:
        return _laid_out(model, accounting, fusion, measurements)
    return [_free(WHICHEVER, model, model.counted(accounting), fusion, measurements)]


def _laid_out(
    model: Architecture,
    accounting: Accounting,
    fusion: bool,
    measurements: Measurements,
) -> list[CoverPlan]:
    """Plans with layout conversions.

    Covers and layouts are chosen together. Where the conversion of some block's outputs wasn't
    measured, the model is covered as well as if all feature maps had one layout, and a block that
    is faster in another one had its inputs and outputs converted.
    """
    counted = model.counted(accounting)
    places = places_of(model, accounting, len(measurements.layouts))
    costs = layout_costs(model, places, measurements, fusion=fusion)
    found = _without_circles(model, accounting, costs, frozenset(), gives_up=fusion)
    proven = found is not None
    if found is None:
        groups = frozenset(range(len(places.ending), len(places.places)))
        unlikely = groups - _likely(model, counted, places, measurements)
        found = _without_circles(model, accounting, costs, unlikely, gives_up=False)
    assert found is not None
    plan = _chosen(model, places, *found, measurements)
    if not proven or not found[0].complete:
        gap_us = _gap_us(plan, model, counted, fusion, measurements)
        plan = plan._replace(blocks=plan.blocks._replace(gap_us=gap_us))
    plans = [plan]
    numbers = places.numbers if fusion else places.numbers[: len(places.ending)]
    if not _conversion_is_known(numbers, measurements):
        plans += [
            _keeping(kept, model, counted, fusion, measurements) for kept in measurements.layouts
        ]
    return plans


def _without_circles(
    model: Architecture,
    accounting: Accounting,
    costs: Costs,
    without: frozenset[int],
    *,
    gives_up: bool,
) -> tuple[LaidOut, Blocks] | None:
    """The cheapest choices, with the cover that they are, without these groups.

    Where groups need each other's results in a circle, a cover lacks one of them: each is left out
    in turn, and what is cheapest then is looked at first.
    """
    counted = model.counted(accounting)
    places = places_of(model, accounting, len(costs.conversions[0]))
    number = count()
    waiting: list[tuple[int, int, frozenset[int], LaidOut]] = []
    tried = {without}
    following = [without]
    while True:
        for fewer in following:
            found = cheapest_choices(model, accounting, costs, fewer, gives_up=gives_up)
            if found is None:
                return None
            heappush(waiting, (found[0], next(number), fewer, found[1]))
        _, _, without, laid_out = heappop(waiting)
        chosen = [index for index, _ in laid_out.choices if index >= len(places.ending)]
        positions = [places.places[index].positions for index in chosen]
        blocks, cycles = contracted(model, counted, positions, places.numbers[chosen], 0.0)
        if not cycles:
            return laid_out, blocks
        by_end = {places.places[index].positions[-1]: index for index in chosen}
        following = [without | {by_end[end]} for end in cycles[0]]
        following = [fewer for fewer in following if fewer not in tried]
        tried.update(following)


def _likely(
    model: Architecture, counted: Counted, places: PlacedBlocks, measurements: Measurements
) -> frozenset[int]:
    """Groups that covers take if feature maps keep one layout but around some calls, and if each
    call has its best: what is tried where there are too many ways to cover a model with layouts.
    """
    medians_us = measurements.median_us[list(measurements.layouts)][:, counted.block_numbers]
    covers = [cheapest_blocks(model, counted, True, us) for us in (*medians_us, medians_us.min(0))]
    covers += [
        _keeping(kept, model, counted, True, measurements).blocks for kept in measurements.layouts
    ]
    taken = {positions for blocks in covers for positions in blocks.groups.values()}
    return frozenset(index for index, place in enumerate(places.places) if place.positions in taken)


def _chosen(
    model: Architecture,
    places: PlacedBlocks,
    laid_out: LaidOut,
    blocks: Blocks,
    measurements: Measurements,
) -> CoverPlan:
    """The plan of these choices."""
    layouts = np.full(len(blocks.numbers), FIRST, np.intp)
    rows = measurements.layouts
    for index, layout in laid_out.choices:
        layouts[places.places[index].positions[-1]] = rows[layout]
    numbers = blocks.numbers
    reads_first = measurements.of("only_writes")[layouts, numbers] == 1
    read = np.where(reads_first, FIRST, layouts)
    return _plan(
        blocks,
        layouts,
        read,
        measurements.median_us[layouts, numbers],
        _writing(model, blocks, "write_conversion_us", measurements),
        _writing(model, blocks, "interleaved_write_conversion_us", measurements),
    )


def _gap_us(
    plan: CoverPlan,
    model: Architecture,
    counted: Counted,
    fusion: bool,
    measurements: Measurements,
) -> float:
    """How much longer a plan takes than the cheapest cover would without layout conversions, each
    call in its best layout; infinite if that leaves fewer layers missing.
    """
    least_us = measurements.median_us[list(measurements.layouts)].min(axis=0)
    blocks = cheapest_blocks(model, counted, fusion, least_us[counted.block_numbers])
    times_us = least_us[blocks.numbers]
    known = np.isfinite(times_us)
    if np.count_nonzero(~known) < plan.lacking:
        return math.inf
    return max(0.0, plan.sequential_us - math.fsum(times_us[known].tolist()))


def _writing(
    model: Architecture, blocks: Blocks, field: Field, measurements: Measurements
) -> Floats:
    """The time that it takes to convert each block's outputs, over `SELECTIONS` and positions; for
    a view, the time for its inputs, the longest of several.
    """
    found = np.zeros((len(SELECTIONS), len(blocks.numbers)))
    ends = np.arange(len(blocks.numbers))
    found[list(measurements.layouts)] = writing_us(model, measurements, field, blocks.numbers, ends)
    is_view = np.zeros(len(blocks.numbers), np.bool_)
    is_view[list(model.free)] = True
    of_views = (is_view & (blocks.numbers == NOTHING))[blocks.targets]
    edges = blocks.sources[of_views].tolist(), blocks.targets[of_views].tolist()
    for source, target in zip(*edges, strict=True):
        found[:, target] = np.maximum(found[:, target], found[:, source])
    return found


def _layouts_matter(numbers: npt.NDArray[np.int32], measurements: Measurements) -> bool:
    """Whether the time of any of these layers or groups depends on the layout."""
    if not measurements.layouts_matter:
        return False
    first_us, *others_us = measurements.median_us[list(measurements.layouts)][:, numbers]
    return not all(np.array_equal(first_us, other_us) for other_us in others_us)


def _free(
    taken: int, model: Architecture, counted: Counted, fusion: bool, measurements: Measurements
) -> CoverPlan:
    """The cheapest cover by the times of this selection, as if layout conversions took no time."""
    medians_us = measurements.median_us[taken]
    blocks = cheapest_blocks(model, counted, fusion, medians_us[counted.block_numbers])
    layouts = np.full(len(blocks.numbers), taken, np.intp)
    nothing = np.zeros((len(SELECTIONS), len(layouts)))
    return _plan(blocks, layouts, layouts, medians_us[blocks.numbers], nothing, nothing)


def _keeping(
    kept: int, model: Architecture, counted: Counted, fusion: bool, measurements: Measurements
) -> CoverPlan:
    """The cheapest cover with feature maps in this layout, and conversions around the blocks that
    are faster in another one even so.
    """
    rows = np.array([kept, *(layout for layout in measurements.layouts if layout != kept)])
    all_us = measurements.median_us[rows]
    all_us[1:] += measurements.of("conversion_us")[rows[1:]]
    blocks = cheapest_blocks(model, counted, fusion, all_us[:, counted.block_numbers].min(axis=0))
    numbers, positions = blocks.numbers, np.arange(len(blocks.numbers))
    layouts = rows[np.argmin(all_us[:, numbers], axis=0)]
    # What a block is converted to, around it, counts at its end.
    ends = np.where(layouts == FIRST, kept, layouts)
    converting = []
    for field in ("conversion_us", "interleaved_conversion_us"):
        found = np.zeros((len(SELECTIONS), len(positions)))
        found[ends, positions] = measurements.of(field)[layouts, numbers] * (layouts != kept)
        converting.append(found)
    plan = _plan(blocks, layouts, layouts, measurements.median_us[layouts, numbers], *converting)
    around_us, interleaved_us = (found.sum(axis=0) for found in converting)
    return plan._replace(conversion_us=around_us, interleaved_conversion_us=interleaved_us)


def _conversion_is_known(numbers: npt.NDArray[np.int32], measurements: Measurements) -> bool:
    """Whether the conversion of what it writes was measured for each of these layers and groups
    that has a time: to the layout that all are measured for, which is the last one.
    """
    times_us = measurements.median_us[list(measurements.layouts)][:, numbers]
    known = np.isfinite(times_us).any(axis=0)
    written_us = measurements.conversions_us("write_conversion_us")[-1, numbers[known]]
    return bool(np.isfinite(written_us).all())


def _plan(
    blocks: Blocks,
    layouts: npt.NDArray[np.intp],
    read: npt.NDArray[np.intp],
    times_us: Floats,
    converting_us: Floats,
    interleaved_converting_us: Floats,
) -> CoverPlan:
    known = np.isfinite(times_us)
    edges = blocks.sources, blocks.targets
    return CoverPlan(
        blocks,
        layouts,
        read,
        np.where(known, times_us, 0.0),
        converting_us,
        conversions_us(layouts, read, converting_us, *edges),
        conversions_us(layouts, read, interleaved_converting_us, *edges),
        known,
    )
