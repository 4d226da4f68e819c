"""Which calls a bound adds up: a cover of the model, and the layout of each call."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.blocks import Blocks, cheapest_blocks
from benanza_analyzer.layouts import channels_last, conversions_us
from benanza_analyzer.measurements import BY_LIBRARY, FIRST, LAST, WHICHEVER, Measurements
from benanza_analyzer.models.architecture import Architecture, Counted
from benanza_analyzer.models.catalogue import NOTHING
from benanza_analyzer.models.contraction import Positions
from benanza_schemas.events import ImageLayout
from benanza_schemas.layer import Accounting

Floats = npt.NDArray[np.float64]

DEAREST_US = 1e6
"""The assumed time of a layout conversion that was not measured: so long that none is chosen."""


class CoverPlan(NamedTuple):
    """A cover with a layout for each block. All arrays have a value for each position.

    `layouts` are places in `SELECTIONS`. `times_us` holds each block's time at its last position,
    zero where the time isn't `known`. `conversion_us` holds the time of the layout conversions
    that a block causes, once for all its readers; `interleaved_conversion_us` holds the same with
    calls interleaved. `reads_no_maps` says which blocks read no feature maps: what they read lies
    in ONNX's own order, whatever their layout is.
    """

    blocks: Blocks
    layouts: npt.NDArray[np.intp]
    times_us: Floats
    conversion_us: Floats
    interleaved_conversion_us: Floats
    known: npt.NDArray[np.bool_]
    reads_no_maps: npt.NDArray[np.bool_]

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
        read = np.where(self.reads_no_maps[targets], FIRST, self.layouts[targets])
        differ = self.layouts[sources] != read
        return np.where(differ, self.conversion_us[sources], 0.0)

    def found(self, measurements: Measurements, field: str) -> Floats:
        """The values of a field of `Best` for the blocks that have a time."""
        numbers, layouts = self.blocks.numbers[self.known], self.layouts[self.known]
        return measurements.of(field)[layouts, numbers]

    def layout(self, measurements: Measurements) -> ImageLayout:
        """The layout of most of the blocks whose time depends on the layout; empty if none does, or
        none has a time with channels last.
        """
        if not measurements.layouts_matter:
            return measurements.names[WHICHEVER]
        medians_us = measurements.median_us[:, self.blocks.numbers]
        minds = self.known & (medians_us[FIRST] != medians_us[LAST])
        minding = self.layouts[minds]
        if np.isinf(medians_us[LAST, minds]).all() or not np.isin(minding, (FIRST, LAST)).all():
            return measurements.names[WHICHEVER]
        return measurements.names[
            LAST if 2 * np.count_nonzero(minding == LAST) > minding.size else FIRST
        ]


def cheapest_plans(
    model: Architecture, accounting: Accounting, measurements: Measurements
) -> tuple[CoverPlan, CoverPlan]:
    """The plans for the bounds without fusion and with it: those with the fewest layers missing,
    and of these the fastest. The measurements must reach as far as the catalogue.

    `paper` takes the libraries' times only. Where layouts matter and data movement counts, several
    covers are tried. With fusion, the covers without groups are tried as well: around a group,
    layout conversions may take longer than the group saves. What groups take moves nothing without
    fusion.
    """
    counted = model.counted(accounting)
    if accounting == "paper":
        return (
            _free(BY_LIBRARY, model, counted, False, measurements),
            _free(BY_LIBRARY, model, counted, True, measurements),
        )
    layouts_matter = _layouts_matter(counted.numbers, measurements)
    without_groups = _tried(layouts_matter, model, counted, False, measurements)
    if not counted.components:
        return _cheapest(without_groups), _cheapest(without_groups)
    layouts_matter = layouts_matter or _layouts_matter(counted.block_numbers, measurements)
    grouped = _tried(layouts_matter, model, counted, True, measurements)
    return _cheapest(without_groups), _cheapest(grouped + without_groups)


def _cheapest(plans: Iterable[CoverPlan]) -> CoverPlan:
    return min(plans, key=lambda plan: (plan.lacking, plan.sequential_us))


def _tried(
    layouts_matter: bool,
    model: Architecture,
    counted: Counted,
    fusion: bool,
    measurements: Measurements,
) -> list[CoverPlan]:
    """The plans of which the cheapest is taken; one if the time of no layer and no group depends on
    the layout.
    """
    if layouts_matter:
        return _laid_out(model, counted, fusion, measurements)
    return [_free(WHICHEVER, model, counted, fusion, measurements)]


def _laid_out(
    model: Architecture, counted: Counted, fusion: bool, measurements: Measurements
) -> list[CoverPlan]:
    """Plans with layout conversions.

    For each of the two layouts, the model is covered as if all feature maps had it, and a block
    that is faster in the other one had its inputs and outputs converted. Then the layouts of each
    cover's blocks are chosen together by a minimum cut. Only the plans of that second step are
    returned if the conversion of every block's outputs was measured.
    """
    plans = [_keeping(kept, model, counted, fusion, measurements) for kept in (FIRST, LAST)]
    covers = {plan.blocks.numbers.tobytes(): plan for plan in plans}.values()
    refined = [_with_neighbours(model, plan, measurements) for plan in covers]
    return refined if _conversion_is_known(plans, measurements) else plans + refined


def _layouts_matter(numbers: npt.NDArray[np.int32], measurements: Measurements) -> bool:
    """Whether the time of any of these layers or groups depends on the layout."""
    if not measurements.layouts_matter:
        return False
    medians_us = measurements.median_us
    return not np.array_equal(medians_us[FIRST, numbers], medians_us[LAST, numbers])


def _free(
    taken: int, model: Architecture, counted: Counted, fusion: bool, measurements: Measurements
) -> CoverPlan:
    """The cheapest cover by the times of this selection, as if layout conversions took no time."""
    medians_us = measurements.median_us[taken]
    blocks = cheapest_blocks(model, counted, fusion, medians_us[counted.block_numbers])
    layouts = np.full(len(blocks.numbers), taken, np.intp)
    nothing = np.zeros(len(layouts))
    return _plan(blocks, layouts, medians_us[blocks.numbers], nothing, nothing)


def _keeping(
    kept: int, model: Architecture, counted: Counted, fusion: bool, measurements: Measurements
) -> CoverPlan:
    """The cheapest cover with feature maps in this layout, and conversions around the blocks that
    are faster in the other one even so.
    """

    other = FIRST + LAST - kept
    medians_us, conversion_us = measurements.median_us, measurements.of("conversion_us")

    def converted_us(numbers: npt.NDArray[np.int32]) -> Floats:
        times_us: Floats = medians_us[other, numbers] + conversion_us[other, numbers]
        return times_us

    numbers = counted.block_numbers
    blocks = cheapest_blocks(
        model, counted, fusion, np.minimum(medians_us[kept, numbers], converted_us(numbers))
    )
    numbers = blocks.numbers
    deviates = converted_us(numbers) < medians_us[kept, numbers]
    layouts = np.where(deviates, other, kept)
    return _plan(
        blocks,
        layouts,
        medians_us[layouts, numbers],
        np.where(deviates, conversion_us[other, numbers], 0.0),
        np.where(deviates, measurements.of("interleaved_conversion_us")[other, numbers], 0.0),
    )


def _conversion_is_known(plans: Sequence[CoverPlan], measurements: Measurements) -> bool:
    """Whether the conversion of the outputs was measured for each block that has a time."""
    write_us = measurements.of("write_conversion_us")
    return all(
        bool(
            np.isfinite(
                write_us[FIRST : LAST + 1, plan.blocks.numbers[plan.known]].min(axis=0)
            ).all()
        )
        for plan in plans
    )


def _with_neighbours(model: Architecture, plan: CoverPlan, measurements: Measurements) -> CoverPlan:
    """The same cover, with the layouts for which calls and conversions take the least time.

    A view that changes the shape reads channels first. A block that reads a view in the other
    layout converts what the view was made of. A block that reads no feature maps is two: one that
    reads, with channels first, and one that writes. A layer without a time takes none in either
    layout, so that the bound without it is no larger than the bound with it.
    """
    blocks, medians_us = plan.blocks, measurements.median_us
    first_us, last_us = (
        np.where(plan.known, medians_us[layout, blocks.numbers], 0.0) for layout in (FIRST, LAST)
    )
    last_us[[view for view in model.reshaping if blocks.numbers[view] == NOTHING]] = math.inf
    write_us, interleaved_write_us = (
        _write_conversions(model, plan, measurements.of(field))
        for field in ("write_conversion_us", "interleaved_write_conversion_us")
    )
    reads_no_maps = _reading_no_maps(plan, measurements)
    count, reading = len(write_us), np.flatnonzero(reads_no_maps)
    none = np.zeros(len(reading))
    reader = np.arange(count)
    reader[reading] = count + np.arange(len(reading))
    pairs = np.unique(np.stack((blocks.sources, reader[blocks.targets]), axis=1), axis=0)
    sources, targets = pairs[:, 0], pairs[:, 1]
    last = _layouts(
        np.concatenate((first_us, none)),
        np.concatenate((last_us, np.full(len(reading), math.inf))),
        np.concatenate((write_us, none)),
        sources,
        targets,
    )
    layouts = np.where(last[:count], LAST, FIRST)
    return _plan(
        blocks,
        layouts,
        medians_us[layouts, blocks.numbers],
        conversions_us(last, write_us, sources, targets)[:count],
        conversions_us(last, interleaved_write_us, sources, targets)[:count],
        reads_no_maps,
    )


def _reading_no_maps(plan: CoverPlan, measurements: Measurements) -> npt.NDArray[np.bool_]:
    """Which blocks read nothing that has to be converted where feature maps have channels last,
    but write something that has.
    """
    only_write: npt.NDArray[np.bool_] = (
        measurements.of("only_writes")[LAST, plan.blocks.numbers] == 1
    )
    only_write &= plan.known
    return only_write


def _layouts(
    first_us: Floats, last_us: Floats, write_us: Floats, sources: Positions, targets: Positions
) -> npt.NDArray[np.bool_]:
    """What `channels_last` returns.

    A measurement changes few of a model's plans; the layouts of the others are looked up.
    """
    times = (array.tobytes() for array in (first_us, last_us, write_us))
    edges = (array.astype(np.int32).tobytes() for array in (sources, targets))
    return _remembered(*times, *edges)


@lru_cache(maxsize=64)
def _remembered(*arrays: bytes) -> npt.NDArray[np.bool_]:
    first_us, last_us, write_us = (np.frombuffer(array) for array in arrays[:3])
    sources, targets = (np.frombuffer(array, np.int32) for array in arrays[3:])
    return channels_last(first_us, last_us, write_us, sources, targets)


def _write_conversions(model: Architecture, plan: CoverPlan, write_us: Floats) -> Floats:
    """The time that it takes to convert each block's outputs, zero where the block has no time;
    for a view, the time for its inputs, the longest of several.
    """
    measured_us = np.where(
        plan.known, write_us[FIRST : LAST + 1, plan.blocks.numbers].min(axis=0), 0.0
    )
    times: Floats = np.minimum(measured_us, DEAREST_US)
    views = {view for view in model.free if plan.blocks.numbers[view] == NOTHING}
    is_view = np.zeros(len(times), np.bool_)
    is_view[list(views)] = True
    of_views = is_view[plan.blocks.targets]
    edges = plan.blocks.sources[of_views].tolist(), plan.blocks.targets[of_views].tolist()
    for source, target in zip(*edges, strict=True):
        times[target] = max(times[target], times[source])
    return times


def _plan(
    blocks: Blocks,
    layouts: npt.NDArray[np.intp],
    times_us: Floats,
    conversion_us: Floats,
    interleaved_conversion_us: Floats,
    reads_no_maps: npt.NDArray[np.bool_] | None = None,
) -> CoverPlan:
    known = np.isfinite(times_us)
    return CoverPlan(
        blocks,
        layouts,
        np.where(known, times_us, 0.0),
        conversion_us,
        interleaved_conversion_us,
        known,
        np.zeros(len(known), np.bool_) if reads_no_maps is None else reads_no_maps,
    )
