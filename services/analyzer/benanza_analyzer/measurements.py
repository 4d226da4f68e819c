"""What is known of each layer on one system at one precision: its best time, or why none.

Layers are known by their numbers in the `Catalogue`.
"""

import math
from typing import NamedTuple

import numpy as np

from benanza_schemas.events import LayerMeasured, Variant

NOT_MEASURED = "not measured yet on this system"
MAX_REASON = 8192


class Best(NamedTuple):
    """The median time of a layer's fastest variant, and the interquartile range around it."""

    median_us: float
    iqr_us: float


def best(event: LayerMeasured) -> Best | str:
    """The least median over the variants that succeeded with warm caches, or the reason.

    Of two variants with the same median, the one with the lesser spread. A time that is not
    finite, or comes without its spread, is no success.
    """
    times = [time for variant in event.variants if (time := _warm_time(variant)) is not None]
    return min(times) if times else _failure(event)


def _warm_time(variant: Variant) -> Best | None:
    if variant.failure or variant.cache != "warm":
        return None
    if variant.median_us is None or variant.iqr_us is None:
        return None
    if not (math.isfinite(variant.median_us) and math.isfinite(variant.iqr_us)):
        return None
    return Best(variant.median_us, variant.iqr_us)


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

    `median_us` and `iqr_us` hold the best times: infinite where there is none, and zero at
    `NOTHING`. They reach at least as far as the catalogue did when `reach` was called last.
    """

    def __init__(self) -> None:
        self.median_us = np.zeros(1)
        self.iqr_us = np.zeros(1)
        self._failures: dict[int, str] = {}

    def reach(self, size: int) -> None:
        """Makes room for all numbers below `size`."""
        if size > len(self.median_us):
            more = np.full(max(size, 2 * len(self.median_us)) - len(self.median_us), np.inf)
            self.median_us = np.concatenate((self.median_us, more))
            self.iqr_us = np.concatenate((self.iqr_us, more))

    def add(self, number: int, outcome: Best | str) -> bool:
        """Takes in an outcome. Whether it changes what is known of the layer."""
        self.reach(number + 1)
        before = Best(float(self.median_us[number]), float(self.iqr_us[number]))
        if isinstance(outcome, str):
            known = self._failures.get(number)
            if math.isfinite(before.median_us) or (known is not None and known <= outcome):
                return False
            self._failures[number] = outcome
            return True
        if outcome >= before:
            return False
        self._failures.pop(number, None)
        self.median_us[number], self.iqr_us[number] = outcome
        return True

    def why_missing(self, number: int) -> str:
        """The reason that a layer without a time has none."""
        return self._failures.get(number, NOT_MEASURED)
