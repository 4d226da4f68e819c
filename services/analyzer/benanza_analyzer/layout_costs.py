"""What the layers and groups of a model cost in each layout, as `laid_out` adds it up."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benanza_analyzer.laid_out import MISSING, Costs
from benanza_analyzer.measurements import Measurements
from benanza_analyzer.models.architecture import Architecture
from benanza_analyzer.models.catalogue import NOTHING
from benanza_analyzer.places import Places

Floats = npt.NDArray[np.float64]

UNIT = 1 << 40
"""Parts of a microsecond in which times are added up: whole numbers, so that the order of adding
makes no difference."""

DEAREST_US = 1e6
"""The assumed time of a layout conversion that was not measured: so long that none is chosen."""


def layout_costs(model: Architecture, places: Places, measurements: Measurements) -> Costs:
    """The costs of all places in `measurements.layouts`, in this order.

    A view that changes the shape has channels first. Where it takes longer as a call than its
    layers do, each by itself in the same layout, a group is left out.
    """
    numbers, size = places.numbers, len(places.ending)
    rows = list(measurements.layouts)
    times_us = measurements.median_us[rows][:, numbers]
    known = np.isfinite(times_us).any(axis=0)
    written_us = writing_us(measurements, "write_conversion_us", numbers)
    times = [_whole(row) for row in times_us]
    by_place: list[list[int | None]] = [list(row) for row in zip(*times, strict=True)]
    conversions = [list(row) for row in zip(*map(_whole_numbers, written_us), strict=True)]
    reads_first = (measurements.of("only_writes")[rows][:, numbers] == 1).T.tolist()
    views = {view for view in model.free if numbers[view] == NOTHING}
    for view in sorted(views):
        read = [conversions[source] for source in places.read[view]]
        conversions[view] = [max(each) for each in zip(*read, strict=True)] or [0] * len(rows)
    for view in views.intersection(model.reshaping):
        by_place[view] = [0, *[None] * (len(rows) - 1)]
    for index in np.flatnonzero(~known[:size]).tolist():
        by_place[index] = [MISSING] * len(rows)
    costs = Costs(by_place, conversions, reads_first, _noted(places, views, conversions))
    for index in range(size, len(places.places)):
        for layout in range(len(rows)):
            if _needless(places, costs, index, layout):
                by_place[index][layout] = None
    return costs


def writing_us(
    measurements: Measurements, field: str, numbers: npt.NDArray[np.int32]
) -> Floats:
    """The times of converting what these layers write, as an array over `measurements.layouts`
    and layers; zero where a layer has no time at all.
    """
    rows = list(measurements.layouts)
    known = np.isfinite(measurements.median_us[rows][:, numbers]).any(axis=0)
    written_us = np.minimum(measurements.conversions_us(field)[:, numbers], DEAREST_US)
    found: Floats = np.where(known & (numbers != NOTHING), written_us, 0.0)
    return found


def _whole(times_us: Floats) -> list[int | None]:
    finite = np.isfinite(times_us)
    whole = _whole_numbers(np.where(finite, times_us, 0.0))
    return [us if is_finite else None for us, is_finite in zip(whole, finite, strict=True)]


def _whole_numbers(times_us: Floats) -> list[int]:
    whole: list[int] = np.rint(times_us * UNIT).astype(np.int64).tolist()
    return whole


def _noted(
    places: Places, views: set[int], conversions: Sequence[Sequence[int]]
) -> dict[int, int]:
    """The position that each view is made of, if that can note its conversions: it is the only one
    to be converted, and the view the only one of it.
    """
    sources = {view: [s for s in places.read[view] if any(conversions[s])] for view in views}
    return {
        view: source
        for view, (source, *others) in ((view, of) for view, of in sources.items() if of)
        if not others
        and source not in places.early
        and sum(reader in views for reader in places.readers[source]) == 1
    }


def _needless(places: Places, costs: Costs, index: int, layout: int) -> bool:
    """Whether the layers of a group are no dearer one by one in this layout, whatever is around."""
    place, cost = places.places[index], costs.times[index][layout]
    if cost is None or any(
        costs.reads_first[each][layout] for each in (index, *place.positions)
    ):
        return False
    apart = zip(*(costs.conversions[position] for position in place.leaving), strict=True)
    together = costs.conversions[index]
    alone = sum(max(0, sum(each) - us) for each, us in zip(apart, together, strict=False))
    for position in place.positions:
        us = costs.times[position][layout]
        if us is None:
            return False
        alone += us
    return cost >= alone
