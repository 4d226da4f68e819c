"""The lower bound of a model on one system at one precision: a pure function."""

import math
from itertools import chain
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from benanza_analyzer.catalogue import NOTHING, Catalogue
from benanza_analyzer.compiled_model import CompiledModel, Counted
from benanza_analyzer.cover import cheapest
from benanza_analyzer.critical_path import critical_path
from benanza_analyzer.measurements import FIRST, LAST, LAYOUTS, WHICHEVER, Measurements
from benanza_analyzer.roofline import Ceilings, roofline_us
from benanza_analyzer.spread import spread_us
from benanza_schemas.events import Missing
from benanza_schemas.layer import Accounting, Precision

BYTES: dict[Precision, int] = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}
"""Of a weight."""


class Bound(msgspec.Struct, frozen=True):
    """What `BoundUpdated` says of a model, without its ids; the fields mean the same."""

    sequential_us: float
    sequential_spread_us: float
    parallel_us: float
    parallel_spread_us: float
    roofline_us: float | None
    attainable_us: float | None
    measured: tuple[int, ...]
    free: tuple[int, ...]
    not_counted: tuple[int, ...]
    missing: tuple[Missing, ...]
    cover: tuple[str, ...]
    critical_path: tuple[int, ...]
    layout: str


class Blocks(NamedTuple):
    """A covered model: the layers and groups that stand for its layers.

    `numbers` holds a block's number at its last position and `NOTHING` elsewhere; `ends`
    holds for each position the last one of its block; `groups` holds the positions of each
    block of several, by its last one.
    """

    numbers: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int32]
    groups: dict[int, tuple[int, ...]]


class Plan(NamedTuple):
    """A cover with images kept in one layout; times are those of the blocks, by last position,
    zero where they aren't known.
    """

    layout: int
    blocks: Blocks
    times_us: npt.NDArray[np.float64]
    known: npt.NDArray[np.bool_]
    sequential_us: float

    def taken(self) -> list[tuple[int, ...]]:
        """The positions of each block that has a time, in topological order."""
        numbers = self.blocks.numbers
        ends = np.flatnonzero(self.known & (numbers != NOTHING)).tolist()
        return [self.blocks.groups.get(end, (end,)) for end in ends]


def lower_bound(
    model: CompiledModel,
    accounting: Accounting,
    fusion: bool,
    measurements: Measurements,
    catalogue: Catalogue,
    ceilings: Ceilings | None,
    precision: Precision,
    cache_bytes: int = 0,
) -> Bound:
    """The bound from the layers' best times, and the roofline if there are ceilings.

    Where layouts matter, data movement counts, and so does turning images: the model is covered
    once with images kept in each layout, and the bound is the lesser. A layer that is faster in
    the other layout then has its images turned on both sides, even where its neighbour's are
    turned as well, so that two such layers in a row are counted a little too dear.

    `attainable_us` adds up times taken in the company of other kernels, as many of them with cold
    weights as `cold_share` says.

    The parallel bound and the roofline are those of the cover that the sequential bound takes:
    with fusion, another one might make them smaller. The roofline counts all layers that the
    accounting counts, measured or not. A layer that is free or not counted stays so where a
    group covers it. Sums are rounded once, so the parallel bound never exceeds the
    sequential one, and no order of summing matters.
    """
    measurements.reach(len(catalogue))
    counted = model.counted(accounting)
    plan = cheapest_plan(counted, accounting, fusion, measurements)
    layout, blocks, times_us, known = plan.layout, plan.blocks, plan.times_us, plan.known
    path = _critical_path(model, blocks, times_us)
    is_counted = counted.numbers != NOTHING
    lacking = np.flatnonzero(is_counted & ~known)
    cover = blocks.numbers[known & (blocks.numbers != NOTHING)].tolist()
    return Bound(
        sequential_us=plan.sequential_us,
        sequential_spread_us=spread_us(blocks.numbers, measurements.iqr_us[layout]),
        parallel_us=math.fsum(times_us[path].tolist()),
        parallel_spread_us=spread_us(blocks.numbers[path], measurements.iqr_us[layout]),
        roofline_us=(
            roofline_us(blocks.numbers, catalogue, ceilings, precision) if ceilings else None
        ),
        attainable_us=_attainable_us(model, plan, measurements, precision, cache_bytes),
        measured=tuple(np.flatnonzero(is_counted & known).tolist()),
        free=model.free,
        not_counted=counted.not_counted,
        missing=_missing(model, counted, lacking, measurements),
        cover=tuple([catalogue.fingerprints[number] for number in cover]),
        critical_path=_layers_of(path, blocks),
        layout=LAYOUTS[layout],
    )


def cheapest_plan(
    counted: Counted, accounting: Accounting, fusion: bool, measurements: Measurements
) -> Plan:
    """The plan whose calls a bound adds up. The measurements reach as far as the catalogue."""
    free = _plan(counted, fusion, measurements, WHICHEVER)
    if accounting == "paper" or not measurements.layouts_matter:
        return free
    plans = [_plan(counted, fusion, measurements, layout) for layout in (FIRST, LAST)]
    if all(plan.sequential_us == free.sequential_us for plan in plans):
        return free
    return min(plans, key=lambda plan: plan.sequential_us)


def _plan(counted: Counted, fusion: bool, measurements: Measurements, layout: int) -> Plan:
    """The cheapest cover with images kept in this layout."""
    medians_us = measurements.median_us[layout]
    blocks = _fused(counted, medians_us) if fusion else _single(counted)
    times_us = medians_us[blocks.numbers]
    known = np.isfinite(times_us)
    times_us[~known] = 0.0
    return Plan(layout, blocks, times_us, known, math.fsum(times_us.tolist()))


def _attainable_us(
    model: CompiledModel,
    plan: Plan,
    measurements: Measurements,
    precision: Precision,
    cache_bytes: int,
) -> float | None:
    """What running the plan would take, or None where a layer lacks the time for it."""
    numbers = plan.blocks.numbers[plan.known]
    warm_us = math.fsum(measurements.in_company_us[plan.layout][numbers].tolist())
    cold_us = math.fsum(measurements.weights_cold_us[plan.layout][numbers].tolist())
    if plan.sequential_us == 0 or not math.isfinite(warm_us + cold_us):
        return None
    share = cold_share(model.parameters * BYTES[precision], cache_bytes)
    return warm_us + share * (cold_us - warm_us)


def cold_share(weight_bytes: float, cache_bytes: int) -> float:
    """As much of a model's weights as one run no longer finds in the cache after another.

    A GPU's last cache is in two halves, and what all multiprocessors read is in both: so more
    than half of it is never there. What goes from layer to layer is there as well: up to a
    quarter, weights stay. In between it is more the more weights there are; `docs/gpu.md` has
    the whole models that say so. Zero if the cache is not known.
    """
    return min(1.0, max(0.0, 4 * weight_bytes / cache_bytes - 1)) if cache_bytes else 0.0


def _single(counted: Counted) -> Blocks:
    """Every layer by itself."""
    return Blocks(counted.numbers, np.arange(len(counted.numbers), dtype=np.int32), {})


def _fused(counted: Counted, medians_us: npt.NDArray[np.float64]) -> Blocks:
    """The cheapest cover by layers and groups."""
    times_us = medians_us[counted.block_numbers].tolist()
    groups: dict[int, tuple[int, ...]] = {}
    group_numbers: list[int] = []
    for plan, blocks, places in counted.components:
        for group in cheapest(plan, tuple(times_us[blocks])):
            for place in places:
                groups[place[group][-1]] = place[group]
                group_numbers.append(blocks.start + plan.size + group)
    if not groups:
        return _single(counted)
    lasts = list(groups)
    members = list(chain.from_iterable(groups.values()))
    numbers = counted.numbers.copy()
    numbers[members] = NOTHING
    numbers[lasts] = counted.block_numbers[group_numbers]
    ends = np.arange(len(numbers), dtype=np.int32)
    ends[members] = np.repeat(lasts, [len(group) for group in groups.values()])
    return Blocks(numbers, ends, groups)


def _critical_path(
    model: CompiledModel, blocks: Blocks, times_us: npt.NDArray[np.float64]
) -> list[int]:
    """The critical path of the covered model, as the last positions of its blocks.

    Edges inside a block vanish; the others leave from its last position, and lead to the last
    of the block that reads them.
    """
    targets = blocks.ends[model.targets]
    between = blocks.ends[model.sources] != targets
    return critical_path(
        model.sources[between].tolist(), targets[between].tolist(), times_us.tolist()
    )


def _layers_of(path: list[int], blocks: Blocks) -> tuple[int, ...]:
    """The positions of all layers of these blocks."""
    if not blocks.groups:
        return tuple(path)
    return tuple(chain.from_iterable(blocks.groups.get(end, (end,)) for end in path))


def _missing(
    model: CompiledModel,
    counted: Counted,
    lacking: npt.NDArray[np.intp],
    measurements: Measurements,
) -> tuple[Missing, ...]:
    """The layers that no block covers and those skipped, by reason, in order of the first."""
    numbers = counted.numbers[lacking].tolist()
    reasons = [*zip(lacking.tolist(), map(measurements.why_missing, numbers), strict=True)]
    by_reason: dict[str, list[int]] = {}
    for position, reason in sorted((*reasons, *model.skipped)):
        by_reason.setdefault(reason, []).append(position)
    return tuple(Missing(reason, tuple(found)) for reason, found in by_reason.items())
