"""The lower bound of a model on one system at one precision: a pure function."""

import math
from itertools import chain

import msgspec
import numpy as np
import numpy.typing as npt

from benanza_analyzer.attainable import attainable_us
from benanza_analyzer.catalogue import NOTHING, Catalogue
from benanza_analyzer.compiled_model import CompiledModel, Counted
from benanza_analyzer.critical_path import critical_path
from benanza_analyzer.measurements import WHICHEVER, Measurements
from benanza_analyzer.plan import Blocks, Plan
from benanza_analyzer.roofline import Ceilings, roofline_us
from benanza_analyzer.spread import spread_us
from benanza_schemas.events import Missing
from benanza_schemas.layer import Accounting, Precision


class Bound(msgspec.Struct, frozen=True):
    """What `BoundUpdated` says of a model, without its ids; the fields mean the same."""

    sequential_us: float | None
    sequential_spread_us: float | None
    parallel_us: float | None
    parallel_spread_us: float | None
    roofline_us: float | None
    attainable_us: float | None
    measured: tuple[int, ...]
    free: tuple[int, ...]
    not_counted: tuple[int, ...]
    missing: tuple[Missing, ...]
    cover: tuple[str, ...]
    critical_path: tuple[int, ...]
    layout: str


def lower_bound(
    model: CompiledModel,
    accounting: Accounting,
    plan: Plan,
    measurements: Measurements,
    catalogue: Catalogue,
    ceilings: Ceilings | None,
    precision: Precision,
    cache_bytes: int = 0,
) -> Bound:
    """The bound from the layers' best times, and the roofline if there are ceilings.

    The calls are those of a cheapest plan (`plan.cheapest_plans`): where layouts matter, turning
    images counts as data movement does. `layout` is the one that most calls keep that mind.

    `attainable_us` adds up times taken in the company of other kernels, as many of them with cold
    weights as `attainable.cold_share` says.

    The parallel bound and the roofline are those of the cover that the sequential bound takes:
    with fusion, another one might make them smaller. An image is turned only on the way to what
    reads it in the other layout: a path that leads elsewhere needn't wait for that. The roofline
    counts all layers that the accounting counts, measured or not. A layer that is free or not
    counted stays so where a group covers it. Sums are rounded once, so the parallel bound never
    exceeds the sequential one, and no order of summing matters.
    """
    counted = model.counted(accounting)
    blocks, known = plan.blocks, plan.known
    edges = blocks.edges(model)
    path = critical_path(
        *(each.tolist() for each in (*edges, plan.between_us(*edges), plan.times_us))
    )
    is_counted = counted.numbers != NOTHING
    lacking = np.flatnonzero(is_counted & ~known)
    cover = blocks.numbers[known & (blocks.numbers != NOTHING)].tolist()
    # A layer that keeps another layout elsewhere is another measurement, if it minds.
    times = np.where(measurements.alike(blocks.numbers), WHICHEVER, plan.layouts), blocks.numbers
    iqr_us = measurements.iqr_us[times]
    taken = np.ravel_multi_index(times, measurements.iqr_us.shape)
    measured = tuple(np.flatnonzero(is_counted & known).tolist())
    missing = _missing(model, counted, lacking, measurements)
    available = bool(measured) or not missing
    return Bound(
        sequential_us=plan.sequential_us if available else None,
        sequential_spread_us=spread_us(taken, iqr_us) if available else None,
        parallel_us=_path_us(plan, path) if available else None,
        parallel_spread_us=spread_us(taken[path], iqr_us[path]) if available else None,
        roofline_us=(
            roofline_us(blocks.numbers, catalogue, ceilings, precision) if ceilings else None
        ),
        attainable_us=attainable_us(model, plan, measurements, precision, cache_bytes),
        measured=measured,
        free=model.free,
        not_counted=counted.not_counted,
        missing=missing,
        cover=tuple([catalogue.fingerprints[number] for number in cover]),
        critical_path=_layers_of(path, blocks),
        layout=plan.layout(measurements),
    )


def _path_us(plan: Plan, path: list[int]) -> float:
    """What the blocks of this path take, with turning images on the way."""
    at = np.array(path, np.int32)
    return math.fsum(chain(plan.times_us[at].tolist(), plan.between_us(at[:-1], at[1:]).tolist()))


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
