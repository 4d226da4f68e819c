"""Each layer's best times on one system at one precision, or the reason why it has none.

Layers are identified by their numbers in the `Catalogue`. Many are faster in one layout of feature
maps than in another, or by a generated kernel than by any library's.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from benanza_schemas.events import NOTHING_TRIED, ImageLayout, LayerMeasured, Variant
from benanza_schemas.times import has_warm_time, time_us
from benanza_schemas.vocabulary import OF_NO_LIBRARY, CacheState

NOT_MEASURED = "not measured yet on this system"
NO_LIBRARY_RUNS_IT = "only generated kernels were timed here, no call of cuDNN or cuBLAS"
MAX_REASON = 8192

STARTED_US = 0.1
"""A call that takes less starts nothing: its results lie where its inputs were."""

WHICHEVER, FIRST, LAST, BLOCKS, BY_LIBRARY = SELECTIONS = range(5)
"""The variants of which the best is taken: all; those whose feature maps have channels first;
those with channels last; those with blocks of channels, the channels of a block last; those of a
library, which generated and submitted kernels are not, in whichever layout."""

NAMES: tuple[ImageLayout, ...] = ("", "NCHW", "NHWC", "NCHWc")
"""The names of the layouts, as of `SELECTIONS`."""


class Best(NamedTuple):
    """A layer's fastest variant: the median of its times and their interquartile range, in
    microseconds.

    `interleaved_us` and `weights_cold_us` are the medians of the same variant under these
    conditions, infinite where they were not measured. `conversion_us` is the time of converting
    all feature maps that the layer reads and writes, from the other layout and back; zero where
    the variant takes any. `write_conversion_us` is the time of converting those that it writes,
    infinite where that was not measured. Interleaved with other calls, both may take longer. The
    other layout is channels first. For variants that have these or take any, it is blocks of
    channels on a CPU, and channels last on a GPU.
    `only_writes` is 1 if the feature maps to be converted are all written, else 0. `upper_us` is
    the least upper end, median and interquartile range, of other measurements, if it is below that
    of this one: one that was disturbed may have the least median, and a wide spread.

    Interleaved times and times with cold weights are differences of two measured times, and so
    may come out below the warm time. They stay so: to replace them by the warm time wherever that
    is larger would make sums over layers too large.
    """

    median_us: float
    iqr_us: float
    interleaved_us: float = math.inf
    weights_cold_us: float = math.inf
    conversion_us: float = 0.0
    interleaved_conversion_us: float = 0.0
    write_conversion_us: float = math.inf
    interleaved_write_conversion_us: float = math.inf
    only_writes: float = 0.0
    upper_us: float = math.inf


UNTIMED = Best(math.inf, math.inf)


def bests(event: LayerMeasured) -> Sequence[Best] | str:
    """For each of `SELECTIONS` the best of its variants that has a warm time, `UNTIMED` where
    there is none; or, if there is no warm time at all, the reason.

    The best has the least median, and of equal medians the smaller spread.
    """
    times = _times(event)
    if not times:
        return _failure(event)
    timed = [(variant, _best(event, variant)) for variant in times]
    return [
        min((best for variant, best in timed if _selects(selection, variant)), default=UNTIMED)
        for selection in SELECTIONS
    ]


def fastest(events: Iterable[LayerMeasured], selection: int) -> tuple[Best, Variant] | None:
    """The best variant of one of `SELECTIONS` over all measurements of a layer, with its times;
    None if there is none.
    """
    candidates = (
        (_best(event, variant), variant)
        for event in events
        for variant in _times(event)
        if _selects(selection, variant)
    )
    return min(candidates, key=lambda candidate: candidate[0], default=None)


def _times(event: LayerMeasured) -> Iterable[Variant]:
    """The variant with the best warm time for each layout and time of layout conversions, of the
    libraries' and of the generated ones.

    Pruned variants are left out: their layout conversions were not measured.
    """
    winners: dict[tuple[str, float | None, bool], Variant] = {}
    for variant in event.variants:
        if has_warm_time(variant):
            wants = variant.layout, variant.layout_change_us, variant.library in OF_NO_LIBRARY
            known = winners.get(wants)
            if known is None or time_us(variant) < time_us(known):
                winners[wants] = variant
    return winners.values()


def _selects(selection: int, variant: Variant) -> bool:
    """Whether one of `SELECTIONS` takes the variant; that of a layout takes those that need no
    layout conversion there.
    """
    if selection == WHICHEVER:
        return True
    if selection == BY_LIBRARY:
        return variant.library not in OF_NO_LIBRARY
    return not variant.layout_change_us or layout_of(variant) in (WHICHEVER, selection)


def _best(event: LayerMeasured, variant: Variant) -> Best:
    conversion_us = interleaved_conversion_us = variant.layout_change_us or 0.0
    write_conversion_us = math.inf if variant.write_change_us is None else variant.write_change_us
    interleaved_write_conversion_us = write_conversion_us
    interleaved_us = weights_cold_us = math.inf
    if interleaved := _under(event, variant, CacheState.INTERLEAVED):
        interleaved_us, _ = time_us(interleaved)
        interleaved_conversion_us = interleaved.layout_change_us or conversion_us
        if interleaved.write_change_us is not None:
            interleaved_write_conversion_us = interleaved.write_change_us
    if cold := _under(event, variant, CacheState.WEIGHTS_COLD):
        weights_cold_us, _ = time_us(cold)
    return Best(
        *time_us(variant),
        interleaved_us,
        weights_cold_us,
        conversion_us,
        interleaved_conversion_us,
        write_conversion_us,
        interleaved_write_conversion_us,
        # Both are sums of the same times, if they are of the same feature maps.
        float(0.0 < conversion_us == write_conversion_us),
    )


def layout_of(variant: Variant) -> int:
    """The layout of the feature maps that a variant reads and writes, as one of `SELECTIONS`."""
    name = variant.layout
    if name == NAMES[BLOCKS]:
        return BLOCKS
    if len(name) > 2 and name.startswith("N") and name.endswith("C"):
        return LAST
    return FIRST if name.startswith("NC") else WHICHEVER


def _under(event: LayerMeasured, variant: Variant, cache: CacheState) -> Variant | None:
    """The same variant with the caches in another state, None if it has no time there."""
    same = (
        other
        for other in event.variants
        if other.cache == cache
        and other.algorithm == variant.algorithm
        and (other.library, other.layout) == (variant.library, variant.layout)
        and not other.failure
    )
    return min(same, key=time_us, default=None)


def _failure(event: LayerMeasured) -> str:
    """Why there is no warm time: the runner's reason, or those of all variants."""
    variants = dict.fromkeys(
        f"{variant.library} {variant.algorithm}: {variant.failure or 'no warm time'}"
        for variant in event.variants
    )
    return (event.failure or "; ".join(variants) or NOTHING_TRIED)[:MAX_REASON]


def _joined(known: Best, best: Best) -> Best:
    """The better of both. The conversion of the outputs depends on the layer alone, up to its
    direction, so that the time of either variant counts. The time is no further above the better
    median than either measurement says.
    """
    better = min(known, best)
    own_us = better.median_us + better.iqr_us
    upper_us = min(
        *(known.upper_us, best.upper_us),
        *(known.median_us + known.iqr_us, best.median_us + best.iqr_us),
    )
    return better._replace(
        upper_us=upper_us if upper_us < own_us else math.inf,
        write_conversion_us=min(known.write_conversion_us, best.write_conversion_us),
        interleaved_write_conversion_us=min(
            known.interleaved_write_conversion_us, best.interleaved_write_conversion_us
        ),
    )


class _Outcome(NamedTuple):
    """What some measurements of a layer say: the best times by selection, empty where there are
    none; or the newest failure, None where there is none either.
    """

    bests: tuple[Best, ...] = ()
    failure: tuple[datetime, str] | None = None

    def joined(self, other: "_Outcome") -> "_Outcome":
        """What both say together, in whichever order."""
        if self.bests and other.bests:
            return _Outcome(tuple(map(_joined, self.bests, other.bests)))
        if self.bests or other.bests:
            return _Outcome(self.bests or other.bests)
        return _Outcome(failure=max(filter(None, (self.failure, other.failure)), default=None))

    def differs(self, other: "_Outcome") -> bool:
        """Whether a bound may differ: it has no times of failures."""
        reasons = (outcome.failure and outcome.failure[1] for outcome in (self, other))
        return self.bests != other.bests or len({*reasons}) > 1


_NONE = _Outcome()


class Measurements:
    """The outcomes of all measurements on one system at one precision, by the layer's number.

    Several measurements of one layer are joined, and their order doesn't matter: the best time
    counts, or, if there is none, the newest failure. Once a layer was measured here, what was
    imported of it doesn't count. Submitted kernels always do.

    The arrays hold the fields of `Best`: a row for each of `SELECTIONS`, infinite where there is
    no time, and zero at `NOTHING`. They are as long as the catalogue was at the last call of
    `reach`, or longer. `generated_matter` says whether any layer is faster by a generated kernel.
    """

    def __init__(self) -> None:
        self._bests = np.zeros((len(SELECTIONS), len(Best._fields), 1))
        self._known_layouts: set[int] = set()
        self._differing = np.zeros(len(SELECTIONS), np.bool_)
        """The selections in which some layer has other times than with channels first."""
        self.generated_matter = False
        self._failures: dict[int, tuple[datetime, str]] = {}
        self._imported: dict[int, dict[str, _Outcome]] = {}
        """By recording, of layers that were not measured here."""
        self._submitted: dict[int, dict[str, _Outcome]] = {}
        """By the kernel."""
        self._without_submitted: dict[int, _Outcome] = {}
        """What else is known of layers with submitted kernels."""

    def know_layouts(self, event: LayerMeasured) -> None:
        """Takes note of the layouts that variants of a measurement have."""
        for variant in event.variants:
            layout = layout_of(variant)
            if layout == BLOCKS or (layout == LAST and variant.layout_change_us):
                self._known_layouts.add(layout)

    @property
    def layouts(self) -> tuple[int, ...]:
        """The layouts that feature maps may have on this system: the first, and all others that
        variants have and that take conversions, or channels last where there is none.
        """
        return FIRST, *(sorted(self._known_layouts) or (LAST,))

    @property
    def layouts_matter(self) -> bool:
        """Whether any layer's times depend on the layout."""
        return bool(self._differing[list(self.layouts)].any())

    def conversions_us(self, field: str) -> npt.NDArray[np.float64]:
        """The times of converting what layers write, between the first layout and each of
        `layouts`, as an array over these and numbers. `field` is one of the two of `Best`.

        The direction makes little difference, so that the lesser time of either counts.
        """
        written_us, (_, *others) = self.of(field), self.layouts
        found = written_us[[FIRST, *others]]
        found[0] = 0.0
        if others == [LAST, BLOCKS]:
            # What takes any layout says how long blocks take.
            found[1][self.of("conversion_us")[LAST] == 0] = math.inf
        found[-1] = np.minimum(found[-1], written_us[FIRST])
        return found

    def of(self, field: str) -> npt.NDArray[np.float64]:
        """The values of a field of `Best`, as an array over selections and numbers."""
        return self._bests[:, Best._fields.index(field)]

    @property
    def median_us(self) -> npt.NDArray[np.float64]:
        """The best times in microseconds, as an array over selections and numbers."""
        return self.of("median_us")

    @property
    def iqr_us(self) -> npt.NDArray[np.float64]:
        """The spreads of the best times in microseconds, as an array like theirs: the interquartile
        range, or how far above the other measurements end, if that is less.
        """
        with np.errstate(invalid="ignore"):  # of infinite times
            return np.fmin(self.of("iqr_us"), self.of("upper_us") - self.median_us)

    def reach(self, size: int) -> None:
        """Extends the arrays to all numbers below `size`."""
        known = self._bests.shape[2]
        if size > known:
            more = np.array(UNTIMED)[:, None].repeat(max(size, 2 * known) - known, axis=1)
            self._bests = np.concatenate((self._bests, [more] * len(SELECTIONS)), axis=2)

    def add(
        self,
        number: int,
        outcome: Sequence[Best] | str,
        measured_at: datetime,
        recording: str = "",
        *,
        submitted: bool = False,
    ) -> bool:
        """Adds an outcome as `bests` returns it, and returns whether it changed anything.

        `measured_at` decides which of several failures is the newest. `recording` is the digest of
        the file that the measurement was imported from, empty if it was made here; or of the kernel
        that was `submitted`, which counts beside whatever else was measured.
        """
        self.reach(number + 1)
        if isinstance(outcome, str):
            new = _Outcome(failure=(measured_at, outcome))
        else:
            new = _Outcome(tuple(outcome))
        shown = self._outcome(number)
        before = after = self._without_submitted.get(number, shown)
        imported = self._imported.get(number)
        if submitted:
            self._without_submitted[number] = before
            of = self._submitted.setdefault(number, {})
            of[recording] = of.get(recording, _NONE).joined(new)
        elif recording and imported is None and before != _NONE:
            return False
        elif recording:
            of = self._imported.setdefault(number, {})
            of[recording] = of.get(recording, _NONE).joined(new)
            after = before.joined(new)
        else:
            after = (before if imported is None else _NONE).joined(new)
            self._imported.pop(number, None)
        self._set_with_submitted(number, after)
        return shown.differs(self._outcome(number))

    def imported_from(self, recording: str) -> list[int]:
        """The layers whose outcome comes from a recording or a submitted kernel, from others as
        well perhaps.
        """
        both = (*self._imported.items(), *self._submitted.items())
        return list(dict.fromkeys(number for number, of in both if recording in of))

    def withdraw(self, recording: str) -> None:
        """Forgets what was imported from a recording, or a submitted kernel."""
        for number in self.imported_from(recording):
            after = self._without_submitted.get(number, self._outcome(number))
            self._submitted.get(number, {}).pop(recording, None)
            others = self._imported.get(number, {})
            if others.pop(recording, None):
                after = reduce(_Outcome.joined, others.values(), _NONE)
                if not others:
                    del self._imported[number]
            self._set_with_submitted(number, after)
        self._differing = (self._bests != self._bests[FIRST]).any(axis=(1, 2))
        self.generated_matter = bool((self._bests[WHICHEVER] != self._bests[BY_LIBRARY]).any())

    def alike(self, numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
        """Which of these layers have the same times in all layouts, as an array of booleans."""
        if not self.layouts_matter:
            return np.ones(len(numbers), np.bool_)
        first, *others = (self._bests[layout][:, numbers] for layout in self.layouts)
        return np.asarray(np.all([(first == other).all(axis=0) for other in others], axis=0))

    def _best(self, selection: int, number: int) -> Best:
        return Best(*self._bests[selection, :, number].tolist())

    def _outcome(self, number: int) -> _Outcome:
        if not math.isfinite(self.median_us[WHICHEVER, number]):
            return _Outcome(failure=self._failures.get(number))
        return _Outcome(tuple(self._best(selection, number) for selection in SELECTIONS))

    def _set_with_submitted(self, number: int, others: _Outcome) -> None:
        """Sets what submitted kernels and all else say together."""
        if number in self._without_submitted:
            self._without_submitted[number] = others
        kernels = self._submitted.get(number, {}).values()
        self._set(number, reduce(_Outcome.joined, kernels, others))

    def _set(self, number: int, outcome: _Outcome) -> None:
        self._failures.pop(number, None)
        if outcome.failure:
            self._failures[number] = outcome.failure
        bests = outcome.bests or (UNTIMED,) * len(SELECTIONS)
        self._bests[:, :, number] = bests
        self._differing |= [best != bests[FIRST] for best in bests]
        self.generated_matter |= bests[WHICHEVER] != bests[BY_LIBRARY]

    def why_missing(self, number: int) -> str:
        """The reason that a layer has no time, or none of a library's."""
        if number in self._failures:
            return self._failures[number][1]
        measured = math.isfinite(self.median_us[WHICHEVER, number])
        return NO_LIBRARY_RUNS_IT if measured else NOT_MEASURED
