"""The lower bound of a model on one system at one precision, and its calls: pure functions."""

import math
from datetime import datetime
from itertools import chain

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from benanza_analyzer.answers.calls import Call, Cover
from benanza_analyzer.attainable import attainable
from benanza_analyzer.blocks import Blocks
from benanza_analyzer.critical_path import critical_path
from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_analyzer.limits.least_work import LeastWork
from benanza_analyzer.limits.reached import with_reached
from benanza_analyzer.limits.speed_of_light import bytes_at, speed_of_light
from benanza_analyzer.measurements import BY_LIBRARY, WHICHEVER, Measurements
from benanza_analyzer.models.architecture import Architecture, Counted
from benanza_analyzer.models.catalogue import NOTHING, Catalogue
from benanza_analyzer.plan import CoverPlan
from benanza_analyzer.spread import spread_us
from benanza_schemas.events import BoundUpdated, Missing, event_id
from benanza_schemas.layer import Accounting, Precision
from benanza_schemas.limits import FIRST_TIME, Hash

OPEN = "0" * 32
"""Stands for an id that isn't known yet."""


def lower_bound(
    model: Architecture,
    accounting: Accounting,
    plan: CoverPlan,
    measurements: Measurements,
    catalogue: Catalogue,
    ceilings: PlatformCeilings | None,
    precision: Precision,
    cache_bytes: float = 0,
    *,
    system_id: Hash,
    fusion: bool,
    on_gpu: bool = False,
) -> BoundUpdated:
    """The bound from the layers' best times, with the speed of light if there are ceilings. What
    moved it and when, and so the event's id, is left open, for `caused` to fill in.

    `plan` is one of `plan.cheapest_plans`; its layout conversions count as data movement does.
    `cache_bytes` is the size of the last cache, zero if it isn't known. `layout` is the layout of
    most of the calls whose time depends on it. `attainable_us` adds up interleaved times, with
    cold weights for the share of `attainable.cold_share`; those that lack are estimated where the
    system is `on_gpu`.

    The parallel bound is that of the same cover as the sequential bound; with fusion, another cover
    might make it smaller. A layout conversion counts on a path only if the path leads to a reader
    in the other layout. The speed of light is of all layers that the accounting counts, measured or
    not, and the same with fusion and without: a bound that lacks layers may be below it. Ceilings
    are at least what the model's products reached. A layer
    that is free or not counted stays so where a group covers it. Each sum is rounded once, so the
    parallel bound never exceeds the sequential bound, and the order of summing doesn't matter.
    """
    counted = model.counted(accounting)
    blocks, known = plan.blocks, plan.known
    path = longest_path(plan)
    is_counted = counted.numbers != NOTHING
    lacking = np.flatnonzero(is_counted & ~known)
    cover = blocks.numbers[blocks.ordered(known & (blocks.numbers != NOTHING))].tolist()
    # In another layout a layer is another measurement, if its time depends on the layout.
    alike = measurements.alike(blocks.numbers) & (plan.layouts != BY_LIBRARY)
    times = np.where(alike, WHICHEVER, plan.layouts), blocks.numbers
    iqr_us = measurements.iqr_us[times]
    taken = np.ravel_multi_index(times, measurements.iqr_us.shape)
    measured = tuple(np.flatnonzero(is_counted & known).tolist())
    missing = _missing(model, counted, lacking, measurements)
    available = bool(measured) or not missing
    light = None
    if ceilings:
        reached = with_reached(ceilings, counted.least, measurements, precision)
        light = speed_of_light(counted.least.whole, reached, precision)
    run = attainable(model, plan, measurements, catalogue, precision, cache_bytes, on_gpu=on_gpu)
    return BoundUpdated(
        event_id=OPEN,
        architecture_id=model.id,
        system_id=system_id,
        batch=model.batch,
        precision=precision,
        accounting=accounting,
        fusion=fusion,
        cause=OPEN,
        computed_at=FIRST_TIME,
        sequential_us=plan.sequential_us if available else None,
        sequential_spread_us=spread_us(taken, iqr_us) if available else None,
        parallel_us=_path_us(plan, path) if available else None,
        parallel_spread_us=spread_us(taken[path], iqr_us[path]) if available else None,
        roofline_us=light.us if light else None,
        limited_by=light.limited_by if light and light.us else "",
        attainable_us=run.us if run else None,
        attainable_error_us=run.error_us if run else 0.0,
        measured=measured,
        free=model.free,
        not_counted=counted.not_counted,
        missing=missing,
        cover=tuple([catalogue.fingerprints[number] for number in cover]),
        critical_path=_layers_of(path, blocks),
        layout=plan.layout(measurements),
    )


def caused(bound: BoundUpdated, cause: Hash, now: datetime) -> BoundUpdated:
    """The bound as the event with the id `cause` moved it at the time `now`."""
    of = bound.architecture_id, bound.system_id, bound.precision, bound.accounting
    identity = event_id("BoundUpdated", *of, str(bound.fusion), cause)
    return replace(bound, event_id=identity, cause=cause, computed_at=now)


def longest_path(plan: CoverPlan) -> list[int]:
    """The last positions of the blocks on the critical path, in order."""
    edges = plan.blocks.sources, plan.blocks.targets
    arrays = *edges, plan.between_us(*edges), plan.times_us
    return critical_path(*(array.tolist() for array in arrays))


def _path_us(plan: CoverPlan, path: list[int]) -> float:
    """The time of the blocks on this path, with the layout conversions between them."""
    positions = np.array(path, np.int32)
    return math.fsum(
        chain(
            plan.times_us[positions].tolist(),
            plan.between_us(positions[:-1], positions[1:]).tolist(),
        )
    )


def _layers_of(path: list[int], blocks: Blocks) -> tuple[int, ...]:
    """The positions of all layers of these blocks."""
    if not blocks.groups:
        return tuple(path)
    return tuple(chain.from_iterable(blocks.groups.get(end, (end,)) for end in path))


def _missing(
    model: Architecture,
    counted: Counted,
    lacking: npt.NDArray[np.intp],
    measurements: Measurements,
) -> tuple[Missing, ...]:
    """The layers without a time and those skipped, by reason, by the first layer of each."""
    numbers, which = np.unique(counted.numbers[lacking], return_inverse=True)
    reasons = [measurements.why_missing(number) for number in numbers.tolist()]
    unmeasured = [*zip(lacking.tolist(), [reasons[index] for index in which.tolist()], strict=True)]
    by_reason: dict[str, list[int]] = {}
    for position, reason in sorted((*unmeasured, *model.skipped)) if model.skipped else unmeasured:
        by_reason.setdefault(reason, []).append(position)
    return tuple(Missing(reason, tuple(positions)) for reason, positions in by_reason.items())


def cover_of(
    plan: CoverPlan,
    measurements: Measurements,
    catalogue: Catalogue,
    least: LeastWork,
    precision: Precision,
) -> Cover:
    """The cover that a plan has chosen, of a model with this least work."""
    blocks = plan.blocks
    moved = np.array(catalogue.bytes)
    fixed = np.zeros(len(moved))
    fixed[least.numbers] = least.fixed
    moved = bytes_at(precision, moved, fixed)
    path = frozenset(longest_path(plan))
    ends = blocks.ordered((plan.known & (blocks.numbers != NOTHING)) | (plan.conversion_us > 0))
    calls, layouts = [], {}
    for end in ends.tolist():
        number, layout = int(blocks.numbers[end]), int(plan.layouts[end])
        positions = blocks.groups.get(end, (end,))
        layouts[positions] = layout
        calls.append(
            Call(
                positions=positions,
                fingerprint=catalogue.fingerprints[number],
                us=float(plan.times_us[end]),
                iqr_us=float(measurements.iqr_us[layout, number]) if number != NOTHING else 0.0,
                conversion_us=float(plan.conversion_us[end]),
                flops=int(catalogue.flops[number]),
                least_flops=int(catalogue.least_flops[number]),
                bytes=float(moved[number]),
                critical=end in path,
            )
        )
    conversion_us = math.fsum(plan.interleaved_conversion_us.tolist())
    missing = frozenset(np.flatnonzero(~plan.known).tolist())
    return Cover(calls, layouts, missing, conversion_us)
