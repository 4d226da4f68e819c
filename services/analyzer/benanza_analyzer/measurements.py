"""What is known of each layer on one system at one precision: its best times, or why none.

Layers are known by their numbers in the `Catalogue`. Images may be kept in either of two layouts
from layer to layer; what is faster in the other one has to have them turned.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from benanza_schemas.events import IN_COMPANY, WARM, WEIGHTS_COLD, LayerMeasured, Variant

NOT_MEASURED = "not measured yet on this system"
MAX_REASON = 8192

WHICHEVER, FIRST, LAST = range(3)
LAYOUTS = ("", "NCHW", "NHWC")
"""In which layout images are kept: whichever suits each layer, as if turning them took no time;
channels first; channels last."""


class Best(NamedTuple):
    """The median time of a layer's fastest variant, and the interquartile range around it.

    `in_company_us` and `weights_cold_us` are the medians of the same variant under these
    conditions, infinite where they were not measured. All contain what it takes to turn images
    into the layout of the variant and back, under the same condition where that was measured.
    """

    median_us: float
    iqr_us: float
    in_company_us: float = math.inf
    weights_cold_us: float = math.inf


def bests(event: LayerMeasured) -> Sequence[Best] | str:
    """For each of `LAYOUTS` the best variant that succeeded with warm caches, or the reason that
    there is none.

    The best has the least median, changes of layout included; of two with the same, the lesser
    spread. A time that is not finite, or comes without its spread, is no success.
    """
    times = _times(event)
    if not times:
        return _failure(event)
    return [min(best for best, _ in _kept(times, layout)) for layout in range(len(LAYOUTS))]


def fastest(events: Iterable[LayerMeasured], layout: int) -> Variant | None:
    """The variant that is best in one of `LAYOUTS`, of all measurements of a layer."""
    found = (each for event in events for each in _kept(_times(event), layout))
    best = min(found, key=lambda each: each[0], default=None)
    return best and best[1]


class _Timed(NamedTuple):
    """A variant with its times, as it is and with its images turned on both sides."""

    variant: Variant
    own: Best
    turned: Best


def _times(event: LayerMeasured) -> list[_Timed]:
    """The variants with the best warm times, of those that want the same changes of layout."""
    winners: dict[tuple[str, float | None], Variant] = {}
    for variant in event.variants:
        if variant.cache == WARM and _has_time(variant):
            wants = variant.layout, variant.layout_change_us
            known = winners.get(wants)
            if known is None or _time(variant) < _time(known):
                winners[wants] = variant
    return [_timed(event, variant) for variant in winners.values()]


def _timed(event: LayerMeasured, variant: Variant) -> _Timed:
    company, cold = (_under(event, variant, cache) for cache in (IN_COMPANY, WEIGHTS_COLD))
    own = Best(*_time(variant), _time(company)[0], _time(cold)[0])
    turning_us = variant.layout_change_us or 0.0
    turned = Best(
        own.median_us + turning_us,
        own.iqr_us,
        own.in_company_us + (company.layout_change_us or turning_us),
        own.weights_cold_us + (cold.layout_change_us or turning_us),
    )
    return _Timed(variant, own, turned)


def _kept(times: Iterable[_Timed], layout: int) -> Iterator[tuple[Best, Variant]]:
    """The times with images kept in this layout: what wants another has them turned."""
    for timed in times:
        fits = layout == WHICHEVER or layout_of(timed.variant) in (WHICHEVER, layout)
        yield timed.own if fits else timed.turned, timed.variant


def layout_of(variant: Variant) -> int:
    """The layout that a variant wants its images in, as a place in `LAYOUTS`."""
    name = variant.layout
    if name.startswith("NC"):
        return FIRST
    return LAST if len(name) > 2 and name.startswith("N") and name.endswith("C") else WHICHEVER


def _has_time(variant: Variant) -> bool:
    return not variant.failure and all(map(math.isfinite, _time(variant)))


def _time(variant: Variant) -> tuple[float, float]:
    """Median and spread; infinite where there is none."""
    median_us, iqr_us = variant.median_us, variant.iqr_us
    return (
        math.inf if median_us is None else median_us,
        math.inf if iqr_us is None else iqr_us,
    )


def _under(event: LayerMeasured, variant: Variant, cache: str) -> Variant:
    """The same variant as it was timed under another condition; without a time if it wasn't."""
    same = (
        other
        for other in event.variants
        if other.cache == cache
        and other.algorithm == variant.algorithm
        and (other.library, other.layout) == (variant.library, variant.layout)
        and _has_time(other)
    )
    untimed = msgspec.structs.replace(variant, median_us=None, iqr_us=None, layout_change_us=None)
    return min(same, key=_time, default=untimed)


def _failure(event: LayerMeasured) -> str:
    """Why there is no time: what the runner said, or what became of each variant."""
    variants = dict.fromkeys(
        f"{variant.library} {variant.algorithm}: {variant.failure or 'no warm time'}"
        for variant in event.variants
    )
    return (event.failure or "; ".join(variants) or "no variant was tried")[:MAX_REASON]


class Measurements:
    """The outcomes of one system at one precision, by the layer's number.

    Several measurements of one layer are joined so that their order doesn't matter: the least
    time counts, any time counts more than a failure, and of two failures the text that sorts
    first.

    The arrays hold the best times: a row for each of `LAYOUTS`, infinite where there is none,
    and zero at `NOTHING`. They reach at least as far as the catalogue did when `reach` was
    called last. `layouts_matter` says whether rows differ anywhere.
    """

    def __init__(self) -> None:
        self.median_us = np.zeros((len(LAYOUTS), 1))
        self.iqr_us = np.zeros((len(LAYOUTS), 1))
        self.in_company_us = np.zeros((len(LAYOUTS), 1))
        self.weights_cold_us = np.zeros((len(LAYOUTS), 1))
        self.layouts_matter = False
        self._failures: dict[int, str] = {}

    def reach(self, size: int) -> None:
        """Makes room for all numbers below `size`."""
        known = self.median_us.shape[1]
        if size > known:
            more = np.full((len(LAYOUTS), max(size, 2 * known) - known), np.inf)
            self.median_us = np.hstack((self.median_us, more))
            self.iqr_us = np.hstack((self.iqr_us, more))
            self.in_company_us = np.hstack((self.in_company_us, more))
            self.weights_cold_us = np.hstack((self.weights_cold_us, more))

    def add(self, number: int, outcome: Sequence[Best] | str) -> bool:
        """Takes in an outcome as `bests` gives it. Whether it changes what is known."""
        self.reach(number + 1)
        if isinstance(outcome, str):
            known = self._failures.get(number)
            measured = math.isfinite(self.median_us[WHICHEVER, number])
            if measured or (known is not None and known <= outcome):
                return False
            self._failures[number] = outcome
            return True
        better = [
            layout for layout, best in enumerate(outcome) if best < self._best(layout, number)
        ]
        for layout in better:
            self._failures.pop(number, None)
            (
                self.median_us[layout, number],
                self.iqr_us[layout, number],
                self.in_company_us[layout, number],
                self.weights_cold_us[layout, number],
            ) = outcome[layout]
        self.layouts_matter |= len({self._best(layout, number) for layout in range(3)}) > 1
        return bool(better)

    def _best(self, layout: int, number: int) -> Best:
        return Best(
            float(self.median_us[layout, number]),
            float(self.iqr_us[layout, number]),
            float(self.in_company_us[layout, number]),
            float(self.weights_cold_us[layout, number]),
        )

    def why_missing(self, number: int) -> str:
        """The reason that a layer without a time has none."""
        return self._failures.get(number, NOT_MEASURED)
