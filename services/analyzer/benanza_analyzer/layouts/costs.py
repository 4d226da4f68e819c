"""What the layers and groups of a model cost in each layout, as `laid_out` adds it up."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from benanza_analyzer.layouts.laid_out import MISSING, Costs
from benanza_analyzer.layouts.places import PlacedBlocks
from benanza_analyzer.measurements import Measurements
from benanza_analyzer.models.architecture import Architecture
from benanza_analyzer.models.catalogue import NOTHING

Floats = npt.NDArray[np.float64]

UNIT = 1 << 40
"""Parts of a microsecond in which times are added up: whole numbers, so that the order of adding
makes no difference."""

Field = Literal["write_conversion_us", "interleaved_write_conversion_us"]
"""Fields of `Best`: the time of converting what is written."""

_AROUND: dict[Field, str] = {
    "write_conversion_us": "conversion_us",
    "interleaved_write_conversion_us": "interleaved_conversion_us",
}
"""Those with what is read as well."""

DEAREST_US = 1e6
"""The assumed time of a layout conversion that was not measured: so long that none is chosen."""


def layout_costs(
    model: Architecture, places: PlacedBlocks, measurements: Measurements, *, fusion: bool
) -> Costs:
    """The costs of all places in `measurements.layouts`, in this order; without fusion, of layers.

    A view that changes the shape has channels first. Where it takes longer as a call than its
    layers do, each by itself in the same layout, a group is left out.
    """
    size = len(places.ending)
    numbers = places.numbers if fusion else places.numbers[:size]
    rows = list(measurements.layouts)
    times_us = measurements.median_us[rows][:, numbers]
    times = list(zip(*map(_whole, times_us), strict=True))
    ends = np.array([place.positions[-1] for place in places.places[: len(numbers)]])
    written_us = writing_us(model, measurements, "write_conversion_us", numbers, ends)
    conversions = list(zip(*map(_whole_numbers, written_us), strict=True))
    reads_first = (measurements.of("only_writes")[rows][:, numbers] == 1).T
    views = {view for view in model.free if numbers[view] == NOTHING}
    for view in sorted(views):
        read = [conversions[source] for source in places.read[view]]
        conversions[view] = tuple(map(max, zip(*read, strict=True))) or (0,) * len(rows)
    for view in views.intersection(model.reshaping):
        times[view] = 0, *[None] * (len(rows) - 1)
    for index in np.flatnonzero(~np.isfinite(times_us[:, :size]).any(axis=0)).tolist():
        times[index] = (MISSING,) * len(rows)
    costs = Costs(
        tuple(times),
        tuple(conversions),
        tuple(map(tuple, reads_first.tolist())),
        _noted(places, views, conversions),
    )
    for index in range(size, len(times)):
        times[index] = tuple(
            None if us is None or _needless(places, costs, index, layout, us) else us
            for layout, us in enumerate(times[index])
        )
    return costs._replace(times=tuple(times))


def writing_us(
    model: Architecture,
    measurements: Measurements,
    field: Field,
    numbers: npt.NDArray[np.int32],
    ends: npt.NDArray[np.intp],
) -> Floats:
    """The times of converting what these layers and groups write, which end at these positions, as
    an array over `measurements.layouts` and them; zero where one has no time at all.

    Where that wasn't measured, it takes as long as some reader in that layout takes for all that
    it reads.
    """
    rows = list(measurements.layouts)
    written_us = measurements.conversions_us(field)[:, numbers]
    unknown = ~np.isfinite(written_us)
    if unknown.any():
        written_us = np.where(unknown, _reading_us(model, measurements, field)[:, ends], written_us)
    known = np.isfinite(measurements.median_us[rows][:, numbers]).any(axis=0)
    found: Floats = np.where(known & (numbers != NOTHING), np.minimum(written_us, DEAREST_US), 0.0)
    return found


def _reading_us(model: Architecture, measurements: Measurements, field: Field) -> Floats:
    """The least time in which some reader of each position has what it reads converted, as an array
    over `measurements.layouts` and positions; infinite where that isn't known.
    """
    rows = list(measurements.layouts)
    numbers = model.full.numbers
    around_us = measurements.of(_AROUND[field])[rows][:, numbers]
    written_us = measurements.of(field)[rows][:, numbers]
    measured = np.isfinite(written_us) & (around_us > 0)
    with np.errstate(invalid="ignore"):  # of infinite times
        read_us = np.where(measured, np.maximum(around_us - written_us, 0.0), np.inf)
    found: Floats = np.full(read_us.shape, np.inf)
    for row, of_readers in zip(found, read_us, strict=True):
        np.minimum.at(row, model.sources, of_readers[model.targets])
    return found


def _whole(times_us: Floats) -> list[int | None]:
    finite = np.isfinite(times_us)
    whole = _whole_numbers(np.where(finite, times_us, 0.0))
    return [us if is_finite else None for us, is_finite in zip(whole, finite, strict=True)]


def _whole_numbers(times_us: Floats) -> list[int]:
    whole: list[int] = np.rint(times_us * UNIT).astype(np.int64).tolist()
    return whole


def _noted(
    places: PlacedBlocks, views: set[int], conversions: Sequence[Sequence[int]]
) -> tuple[int | None, ...]:
    """The position that each view is made of, if that can note its conversions: it is the only one
    to be converted, and the view the only one of it.
    """
    noted: list[int | None] = [None] * len(places.ending)
    for view in views:
        sources = [source for source in places.read[view] if any(conversions[source])]
        if len(sources) != 1 or sources[0] in places.early:
            continue
        if sum(reader in views for reader in places.readers[sources[0]]) == 1:
            noted[view] = sources[0]
    return tuple(noted)


def _needless(places: PlacedBlocks, costs: Costs, index: int, layout: int, cost: int) -> bool:
    """Whether the layers of a group are no dearer one by one in this layout, whatever is around."""
    positions, leaving = places.places[index].positions, places.places[index].leaving
    alone = 0
    for position in positions:
        us = costs.times[position][layout]
        if us is None or costs.reads_first[position][layout]:
            return False
        alone += us
        if alone > cost:
            return False
    apart = zip(*(costs.conversions[position] for position in leaving), strict=True)
    together = costs.conversions[index]
    more = sum(max(0, sum(each) - us) for each, us in zip(apart, together, strict=False))
    return alone + more <= cost and not costs.reads_first[index][layout]
