"""Which calls a bound adds up: a cover of the model, and the layout that each call keeps."""

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_analyzer.catalogue import NOTHING
from benanza_analyzer.compiled_model import CompiledModel, Counted
from benanza_analyzer.cover import cheapest
from benanza_analyzer.layouts import channels_last, turned
from benanza_analyzer.measurements import FIRST, LAST, LAYOUTS, WHICHEVER, Measurements
from benanza_schemas.layer import Accounting

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.int32]

DEAREST_US = 1e6
"""What turning is taken to cost where that was not measured: so that it isn't done there."""


class Blocks(NamedTuple):
    """A covered model: the layers and groups that stand for its layers.

    `numbers` holds a block's number at its last position and `NOTHING` elsewhere; `ends`
    holds for each position the last one of its block; `groups` holds the positions of each
    block of several, by its last one.
    """

    numbers: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    groups: dict[int, tuple[int, ...]]

    def edges(self, model: CompiledModel) -> tuple[Positions, Positions]:
        """Sources and targets of what is left of the model's edges: from the last position of a
        block to that of another that reads it. Edges inside a block vanish.
        """
        targets = self.ends[model.targets]
        between = self.ends[model.sources] != targets
        return model.sources[between], targets[between]


class Plan(NamedTuple):
    """A cover whose blocks each keep their images in a layout. Arrays are by position.

    `layouts` are places in `LAYOUTS`. `times_us` are those of the blocks, at their last
    positions, zero where they aren't `known`; `turning_us` is what turning images takes on
    account of a block, once for all its readers; `turning_in_company_us` the same in company.
    """

    blocks: Blocks
    layouts: npt.NDArray[np.intp]
    times_us: Floats
    turning_us: Floats
    turning_in_company_us: Floats
    known: npt.NDArray[np.bool_]

    @property
    def sequential_us(self) -> float:
        return math.fsum(chain(self.times_us.tolist(), self.turning_us.tolist()))

    @property
    def lacking(self) -> int:
        """How many layers that count have no time."""
        return int(np.count_nonzero(~self.known))

    def between_us(self, sources: Positions, targets: Positions) -> Floats:
        """What turning images takes on the way from each of these blocks to one that reads it.

        Where they are turned on both sides of a block, both are on the way out.
        """
        differ = self.layouts[sources] != self.layouts[targets]
        return np.where(differ, self.turning_us[sources], 0.0)

    def taken(self) -> list[tuple[tuple[int, ...], int]]:
        """The positions and the layout of each block that has a time, in topological order."""
        ends = np.flatnonzero(self.known & (self.blocks.numbers != NOTHING)).tolist()
        return [
            (self.blocks.groups.get(end, (end,)), layout)
            for end, layout in zip(ends, self.layouts[ends].tolist(), strict=True)
        ]

    def found(self, measurements: Measurements, field: str) -> Floats:
        """A field of `Best` for each block that has a time, in topological order."""
        numbers, layouts = self.blocks.numbers[self.known], self.layouts[self.known]
        return measurements.of(field)[layouts, numbers]

    def layout(self, measurements: Measurements) -> str:
        """The layout that most of the blocks keep for which it makes a difference."""
        if not measurements.layouts_matter:
            return LAYOUTS[WHICHEVER]
        medians_us = measurements.median_us[:, self.blocks.numbers]
        minding = self.layouts[self.known & (medians_us[FIRST] != medians_us[LAST])]
        if not minding.size or (minding == WHICHEVER).any():
            return LAYOUTS[WHICHEVER]
        return LAYOUTS[LAST if 2 * np.count_nonzero(minding == LAST) > minding.size else FIRST]


def cheapest_plans(
    model: CompiledModel, accounting: Accounting, measurements: Measurements
) -> tuple[Plan, Plan]:
    """The plans whose calls the bounds without fusion and with it add up. The measurements reach
    as far as the catalogue.

    Where layouts matter and data movement counts, a plan is the cheapest of several that leave
    the fewest layers missing. With fusion, those without groups are among them: around a group,
    turning images may take more than the group saves.
    """
    counted = model.counted(accounting)
    if accounting == "paper" or not _minds(counted, measurements):
        return _free(counted, False, measurements), _free(counted, True, measurements)
    alone = _laid_out(model, counted, False, measurements)
    grouped = _laid_out(model, counted, True, measurements) if counted.components else []
    return _cheapest(alone), _cheapest(grouped + alone)


def _cheapest(plans: Iterable[Plan]) -> Plan:
    return min(plans, key=lambda plan: (plan.lacking, plan.sequential_us))


def _laid_out(
    model: CompiledModel, counted: Counted, fusion: bool, measurements: Measurements
) -> list[Plan]:
    """Plans in which images are turned where layers want another layout.

    The model is covered once with images kept in either layout, where what is faster in the
    other one has its images turned on both sides. The layouts of each cover's blocks are then
    chosen anew, each with a look at its neighbours. Only these are given if it is known what
    turning each result takes.
    """
    plans = [_keeping(kept, counted, fusion, measurements) for kept in (FIRST, LAST)]
    covers = {plan.blocks.numbers.tobytes(): plan for plan in plans}.values()
    found = [_with_neighbours(model, plan, measurements) for plan in covers]
    return found if _turning_is_known(plans, measurements) else plans + found


def _minds(counted: Counted, measurements: Measurements) -> bool:
    """Whether the layout of images makes a difference to any layer or group."""
    if not measurements.layouts_matter:
        return False
    numbers = np.append(counted.numbers, counted.block_numbers)
    medians_us = measurements.median_us
    return not np.array_equal(medians_us[FIRST, numbers], medians_us[LAST, numbers])


def _free(counted: Counted, fusion: bool, measurements: Measurements) -> Plan:
    """The cheapest cover, as if turning images took no time."""
    medians_us = measurements.median_us[WHICHEVER]
    blocks = _blocks(counted, fusion, medians_us[counted.block_numbers])
    layouts = np.full(len(blocks.numbers), WHICHEVER, np.intp)
    nothing = np.zeros(len(layouts))
    return _plan(blocks, layouts, medians_us[blocks.numbers], nothing, nothing)


def _keeping(kept: int, counted: Counted, fusion: bool, measurements: Measurements) -> Plan:
    """The cheapest cover with images kept in this layout, and turned around what deviates."""
    other = FIRST + LAST - kept
    medians_us, around_us = measurements.median_us, measurements.of("around_us")

    def turned_us(numbers: npt.NDArray[np.int32]) -> Floats:
        found: Floats = medians_us[other, numbers] + around_us[other, numbers]
        return found

    numbers = counted.block_numbers
    blocks = _blocks(counted, fusion, np.minimum(medians_us[kept, numbers], turned_us(numbers)))
    numbers = blocks.numbers
    deviates = turned_us(numbers) < medians_us[kept, numbers]
    layouts = np.where(deviates, other, kept)
    return _plan(
        blocks,
        layouts,
        medians_us[layouts, numbers],
        np.where(deviates, around_us[other, numbers], 0.0),
        np.where(deviates, measurements.of("around_in_company_us")[other, numbers], 0.0),
    )


def _turning_is_known(plans: Sequence[Plan], measurements: Measurements) -> bool:
    """Whether it is known for each block that has a time what turning its result takes."""
    after_us = measurements.of("after_us")
    return all(
        bool(np.isfinite(after_us[:, plan.blocks.numbers[plan.known]].min(axis=0)).all())
        for plan in plans
    )


def _with_neighbours(model: CompiledModel, plan: Plan, measurements: Measurements) -> Plan:
    """The same cover, with layouts chosen so that all takes the least time.

    A view that makes another shape of an image wants it with channels first. What reads a view
    in the other layout turns as much as the view was made of. A layer without a time takes
    none in either layout, so that a bound that lacks it is no larger than one with it.
    """
    blocks, medians_us = plan.blocks, measurements.median_us
    first_us, last_us = (
        np.where(plan.known, medians_us[layout, blocks.numbers], 0.0) for layout in (FIRST, LAST)
    )
    last_us[[view for view in model.reshaping if blocks.numbers[view] == NOTHING]] = math.inf
    sources, targets = (each.tolist() for each in blocks.edges(model))
    after_us, after_in_company_us = (
        _after(model, plan, measurements.of(field)) for field in ("after_us", "after_in_company_us")
    )
    edges = tuple(sorted(set(zip(sources, targets, strict=True))))
    last = _remembered(tuple(first_us.tolist()), tuple(last_us.tolist()), tuple(after_us), edges)
    layouts = np.where(last, LAST, FIRST)
    return _plan(
        blocks,
        layouts,
        medians_us[layouts, blocks.numbers],
        np.array(turned(last, after_us, edges)),
        np.array(turned(last, after_in_company_us, edges)),
    )


# A measurement changes few of a model's plans; the layouts of the others are looked up here.
_remembered = lru_cache(maxsize=64)(channels_last)


def _after(model: CompiledModel, plan: Plan, after_us: Floats) -> list[float]:
    """What turning what each block writes takes, zero where it has no time; of a view, what
    turning what it reads takes, the most of several.
    """
    found = np.where(plan.known, after_us[FIRST:, plan.blocks.numbers].min(axis=0), 0.0)
    times: list[float] = np.minimum(found, DEAREST_US).tolist()
    views = {view for view in model.free if plan.blocks.numbers[view] == NOTHING}
    for source, target in zip(model.sources.tolist(), model.targets.tolist(), strict=True):
        if target in views:
            times[target] = max(times[target], times[source])
    return times


def _plan(
    blocks: Blocks,
    layouts: npt.NDArray[np.intp],
    times_us: Floats,
    turning_us: Floats,
    turning_in_company_us: Floats,
) -> Plan:
    known = np.isfinite(times_us)
    return Plan(
        blocks, layouts, np.where(known, times_us, 0.0), turning_us, turning_in_company_us, known
    )


def _blocks(counted: Counted, fusion: bool, times_us: Floats) -> Blocks:
    """The cheapest cover by layers and, with fusion, groups; times are those of its
    `block_numbers`.
    """
    groups: dict[int, tuple[int, ...]] = {}
    group_numbers: list[int] = []
    times = times_us.tolist()
    for plan, blocks, places in counted.components if fusion else ():
        for group in cheapest(plan, tuple(times[blocks])):
            for place in places:
                groups[place[group][-1]] = place[group]
                group_numbers.append(blocks.start + plan.size + group)
    numbers = counted.numbers.copy()
    ends = np.arange(len(numbers), dtype=np.int32)
    if groups:
        lasts = list(groups)
        members = list(chain.from_iterable(groups.values()))
        numbers[members] = NOTHING
        numbers[lasts] = counted.block_numbers[group_numbers]
        ends[members] = np.repeat(lasts, [len(group) for group in groups.values()])
    return Blocks(numbers, ends, groups)
