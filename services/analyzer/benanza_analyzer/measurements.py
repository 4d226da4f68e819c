"""What is known of each layer on one system at one precision: its best times, or why none.

Layers are known by their numbers in the `Catalogue`. Many are faster in one layout of images than
in the other.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_schemas.events import (
    INTERLEAVED,
    NOTHING_TRIED,
    PRUNED,
    WARM,
    WEIGHTS_COLD,
    Cache,
    ImageLayout,
    LayerMeasured,
    Variant,
)

NOT_MEASURED = "not measured yet on this system"
MAX_REASON = 8192

WHICHEVER, FIRST, LAST = range(3)
LAYOUTS: tuple[ImageLayout, ...] = ("", "NCHW", "NHWC")
"""In which layout a layer keeps its images: whichever suits it; channels first; channels last."""


class Best(NamedTuple):
    """A layer's fastest variant: the median of its times, and the interquartile range around it.

    `in_company_us` and `weights_cold_us` are the medians of the same variant under these
    conditions, infinite where they were not measured. `around_us` is what it takes to turn all
    images that the layer reads and writes from the other layout and back, zero where the variant
    takes them as they come; `after_us` what it takes to turn those that it writes, infinite where
    that isn't known. In company both may take longer.

    Times in company and with cold weights are differences of two, whose errors may make them less
    than those alone: to keep the larger one of each layer would make their sum too large.
    """

    median_us: float
    iqr_us: float
    in_company_us: float = math.inf
    weights_cold_us: float = math.inf
    around_us: float = 0.0
    around_in_company_us: float = 0.0
    after_us: float = math.inf
    after_in_company_us: float = math.inf


UNTIMED = Best(math.inf, math.inf)


def bests(event: LayerMeasured) -> Sequence[Best] | str:
    """For each of `LAYOUTS` the best variant that keeps it and succeeded with warm caches,
    `UNTIMED` where there is none; or the reason that there is none at all.

    The best has the least median; of two with the same, the lesser spread.
    """
    times = _times(event)
    if not times:
        return _failure(event)
    return [
        min((_best(event, each) for each in times if _keeps(each, layout)), default=UNTIMED)
        for layout in range(len(LAYOUTS))
    ]


def fastest(events: Iterable[LayerMeasured], layout: int) -> tuple[Best, Variant] | None:
    """The variant that is best in one of `LAYOUTS`, of all measurements of a layer; its times."""
    found = (
        (_best(event, each), each)
        for event in events
        for each in _times(event)
        if _keeps(each, layout)
    )
    return min(found, key=lambda each: each[0], default=None)


def _times(event: LayerMeasured) -> Iterable[Variant]:
    """The variants with the best warm times, of those that want the same changes of layout.

    What was hopeless is left out: what changes of layout take around it was not measured.
    """
    winners: dict[tuple[str, float | None], Variant] = {}
    for variant in event.variants:
        if variant.cache == WARM and variant.stopped_by != PRUNED and not variant.failure:
            wants = variant.layout, variant.layout_change_us
            known = winners.get(wants)
            if known is None or _time(variant) < _time(known):
                winners[wants] = variant
    return winners.values()


def _keeps(variant: Variant, layout: int) -> bool:
    """Whether images needn't be turned for it that are kept in this layout."""
    return (
        layout == WHICHEVER
        or not variant.layout_change_us
        or layout_of(variant) in (WHICHEVER, layout)
    )


def _best(event: LayerMeasured, variant: Variant) -> Best:
    around_us = around_in_company_us = variant.layout_change_us or 0.0
    after_us = math.inf if variant.write_change_us is None else variant.write_change_us
    after_in_company_us = after_us
    in_company_us = weights_cold_us = math.inf
    if company := _under(event, variant, INTERLEAVED):
        in_company_us, _ = _time(company)
        around_in_company_us = company.layout_change_us or around_us
        if company.write_change_us is not None:
            after_in_company_us = company.write_change_us
    if cold := _under(event, variant, WEIGHTS_COLD):
        weights_cold_us, _ = _time(cold)
    return Best(
        *_time(variant),
        in_company_us,
        weights_cold_us,
        around_us,
        around_in_company_us,
        after_us,
        after_in_company_us,
    )


def layout_of(variant: Variant) -> int:
    """The layout that a variant wants its images in, as a place in `LAYOUTS`."""
    name = variant.layout
    if name.startswith("NC"):
        return FIRST
    return LAST if len(name) > 2 and name.startswith("N") and name.endswith("C") else WHICHEVER


def _time(variant: Variant) -> tuple[float, float]:
    """Median and spread of a variant that didn't fail."""
    assert variant.median_us is not None and variant.iqr_us is not None  # noqa: PT018
    return variant.median_us, variant.iqr_us


def _under(event: LayerMeasured, variant: Variant, cache: Cache) -> Variant | None:
    """The same variant as it was timed under another condition, if it was."""
    same = (
        other
        for other in event.variants
        if other.cache == cache
        and other.algorithm == variant.algorithm
        and (other.library, other.layout) == (variant.library, variant.layout)
        and not other.failure
    )
    return min(same, key=_time, default=None)


def _failure(event: LayerMeasured) -> str:
    """Why there is no time: what the runner said, or what became of each variant."""
    variants = dict.fromkeys(
        f"{variant.library} {variant.algorithm}: {variant.failure or 'no warm time'}"
        for variant in event.variants
    )
    return (event.failure or "; ".join(variants) or NOTHING_TRIED)[:MAX_REASON]


def _joined(known: Best, best: Best) -> Best:
    """The better of both. What turning a result takes is the layer's, whichever variant said it."""
    return min(known, best)._replace(
        after_us=min(known.after_us, best.after_us),
        after_in_company_us=min(known.after_in_company_us, best.after_in_company_us),
    )


class Measurements:
    """The outcomes of one system at one precision, by the layer's number.

    Several measurements of one layer are joined so that their order doesn't matter: the least
    time counts, any time counts more than a failure, and of two failures the text that sorts
    first.

    The arrays hold the fields of `Best`: a row for each of `LAYOUTS`, infinite where there is no
    time, and zero at `NOTHING`. They reach at least as far as the catalogue did when `reach` was
    called last. `layouts_matter` says whether rows differ anywhere.
    """

    def __init__(self) -> None:
        self._bests = np.zeros((len(LAYOUTS), len(Best._fields), 1))
        self.layouts_matter = False
        self._failures: dict[int, tuple[datetime, str]] = {}

    def of(self, field: str) -> npt.NDArray[np.float64]:
        """The array of a field of `Best`, by layout and number."""
        return self._bests[:, Best._fields.index(field)]

    @property
    def median_us(self) -> npt.NDArray[np.float64]:
        """The best times, by layout and number."""
        return self.of("median_us")

    @property
    def iqr_us(self) -> npt.NDArray[np.float64]:
        """Their spreads, by layout and number."""
        return self.of("iqr_us")

    def reach(self, size: int) -> None:
        """Makes room for all numbers below `size`."""
        known = self._bests.shape[2]
        if size > known:
            more = np.array(UNTIMED)[:, None].repeat(max(size, 2 * known) - known, axis=1)
            self._bests = np.concatenate((self._bests, [more] * len(LAYOUTS)), axis=2)

    def add(self, number: int, outcome: Sequence[Best] | str, measured_at: datetime) -> bool:
        """Takes in an outcome as `bests` gives it. Whether it changes what is known.

        Of several failures the last one's reason counts.
        """
        self.reach(number + 1)
        if isinstance(outcome, str):
            known = self._failures.get(number)
            failure = measured_at, outcome
            measured = math.isfinite(self.median_us[WHICHEVER, number])
            if measured or (known is not None and known >= failure):
                return False
            self._failures[number] = failure
            return known is None or known[1] != outcome
        self._failures.pop(number, None)
        changed = False
        for layout, best in enumerate(outcome):
            before = self._best(layout, number)
            joined = _joined(before, best)
            changed |= joined != before
            self._bests[layout, :, number] = joined
        self.layouts_matter |= self._best(FIRST, number) != self._best(LAST, number)
        return changed

    def alike(self, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which of these layers have the same times in both layouts."""
        if not self.layouts_matter:
            return np.ones(len(numbers), np.bool_)
        first, last = self._bests[FIRST][:, numbers], self._bests[LAST][:, numbers]
        return np.asarray((first == last).all(axis=0))

    def _best(self, layout: int, number: int) -> Best:
        return Best(*self._bests[layout, :, number].tolist())

    def why_missing(self, number: int) -> str:
        """The reason that a layer without a time has none."""
        _, reason = self._failures.get(number, (None, NOT_MEASURED))
        return reason
