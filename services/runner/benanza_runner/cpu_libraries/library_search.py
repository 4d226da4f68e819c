"""Candidates of the libraries on a CPU are checked and timed, as ONNX Runtime's own forms are."""

import time
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.check import given_as_known, why_wrong
from benanza_runner.cpu_libraries.cpu_library import Borders, CpuCandidate, CpuLibrary, CpuWork
from benanza_runner.cuda.candidate import refused
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.search.guard import BLOCKLISTED, Guard
from benanza_runner.measuring.busy import Load
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.onnxruntime.copies import copies_for
from benanza_runner.onnxruntime.copies_timer import TimedCopies, timed_calls
from benanza_runner.reasons import short_reason
from benanza_runner.variants import timed_variant
from benanza_schemas.events import Variant
from benanza_schemas.layer import Layer
from benanza_schemas.vocabulary import StoppedBy

PRUNE_FACTOR = 10.0
"""A candidate whose first calls take so many times as long as the fastest known isn't timed."""

CLOSE = 1.3
CLOSE_US = 3.0
"""Candidates are timed in full up to so many times the fastest, and so many microseconds above:
one call tells no more of a small layer.
"""

FIRST_CALLS = 3

SHARE_OF_CANDIDATE = 1 / 3
"""Of the time for a layer a candidate may take so much, and is tried only if that is left. So none
is running when the layer's time is over, and is taken for what took it, that hadn't had its share.
"""


class Rules(NamedTuple):
    """How the candidates are screened, one layer in a call, and timed in full."""

    screening: Rule
    full: Rule


class Found(NamedTuple):
    """A variant, and the layout of the feature maps at its borders."""

    variant: Variant
    borders: Borders


class _Screened(NamedTuple):
    candidate: CpuCandidate
    times: TimedCopies
    empty_call_us: float


class LibrarySearch:
    """Checks and times what these libraries offer, one candidate after the other.

    One candidate is open at a time: the threads of another one could wait for work on the same
    cores. The guard keeps candidates from being tried again that ended a process, or took longer
    than their share of the `seconds` of a layer. `load` reads how busy the machine is.
    """

    def __init__(
        self,
        libraries: Iterable[CpuLibrary],
        rules: Rules,
        guard: Guard,
        load: Callable[[], Load],
        seconds: float,
    ) -> None:
        self._libraries = tuple(libraries)
        self._rules = rules
        self._guard = guard
        self._load = load
        self._seconds = seconds
        self._began_s = 0.0

    def found(
        self, work: CpuWork, exact: Layer, name: str, fastest_us: float, began_s: float
    ) -> list[Found]:
        """All ways in which the libraries run the layer, or why they don't.

        The reference is computed of `exact`, the layer with the types that it was ingested with.
        `name` tells this work from other work. `fastest_us` is the best time of the layer so far,
        in microseconds, and infinite if there is none. `began_s` is when the layer was begun, by
        `time.monotonic`.
        """
        self._began_s = began_s
        if not self._libraries:
            return []
        try:
            known = reference(retyped(exact, "fp32"), work.precision, work.threads)
        except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
            reason = f"its result can't be checked: ONNX Runtime: {short_reason(str(error))}"
            title = work.layer.title()
            return [
                Found(refused(library.library, title, "", reason), Borders())
                for library in self._libraries
            ]
        work = work._replace(model=given_as_known(work.model, known))
        found, screened = [], []
        for library in self._libraries:
            for offered in self._offered(library, work, name):
                tried = self._screened(library, offered, work, known.outputs, name, fastest_us)
                if isinstance(tried, Variant):
                    found.append(Found(tried, Borders(tried.layout)))
                    continue
                screened.append(tried)
                fastest_us = min(fastest_us, median(tried.times.samples_us))
        return found + [self._timed(each, work, name, fastest_us) for each in screened]

    def _offered(
        self, library: CpuLibrary, work: CpuWork, name: str
    ) -> list[CpuCandidate | Variant]:
        watched = f"{name} {library.library}"
        title = work.layer.title()
        if self._guard.blocklisted(watched):
            return [refused(library.library, title, "", BLOCKLISTED)]
        if too_late := self._too_late():
            return [refused(library.library, title, "", too_late)]
        try:
            with self._guard.watching(watched):
                return list(library.candidates(work))
        except Exception as error:  # noqa: BLE001  # it must not cost the other libraries
            return [refused(library.library, title, "", error)]

    def _screened(
        self,
        library: CpuLibrary,
        offered: CpuCandidate | Variant,
        work: CpuWork,
        expected: Sequence[Array],
        name: str,
        fastest_us: float,
    ) -> _Screened | Variant:
        """The candidate with a few times of one call each, or why it failed."""
        if isinstance(offered, Variant):
            return offered
        watched = _named(name, offered)
        if reason := BLOCKLISTED if self._guard.blocklisted(watched) else self._too_late():
            return _failed(offered, reason)
        try:
            empty_us = library.empty_call_us(work.threads)
            with self._guard.watching(watched), offered.open(1) as calls:
                calls.call()
                reason = why_wrong(calls.results(), expected, work.layer, work.precision)
                if reason:
                    return _failed(offered, reason)
                once_us = max(0.0, min(calls.call().us for _ in range(FIRST_CALLS)) - empty_us)
                times = TimedCopies((once_us,), StoppedBy.PRUNED, 1, 0)
                if once_us <= PRUNE_FACTOR * fastest_us:
                    rule = self._rules.screening
                    times = timed_calls(calls.call, 1, empty_us, rule, self._load)
        except Exception as error:  # noqa: BLE001  # the libraries' errors share no base
            return _failed(offered, error)
        return _Screened(offered, times, empty_us)

    def _timed(self, screened: _Screened, work: CpuWork, name: str, fastest_us: float) -> Found:
        """The candidate timed in full, if it may be the fastest."""
        candidate, times, empty_us = screened
        once_us = median(times.samples_us)
        if times.stopped_by == StoppedBy.PRUNED or once_us > CLOSE * fastest_us + CLOSE_US:
            if times.stopped_by != StoppedBy.PRUNED:
                times = times._replace(stopped_by=StoppedBy.SCREENED)
            return _found(candidate, times)
        if self._too_late():
            return _found(candidate, times._replace(stopped_by=StoppedBy.SCREENED))
        weights = sum(array.nbytes for array in work.model.constants.values())
        copies = min(copies_for(once_us, weights), candidate.most_copies)
        try:
            with self._guard.watching(_named(name, candidate)), candidate.open(copies) as calls:
                times = timed_calls(calls.call, copies, empty_us, self._rules.full, self._load)
        except Exception as error:  # noqa: BLE001  # as above
            return Found(_failed(candidate, error), candidate.borders)
        return _found(candidate, times)

    def _too_late(self) -> str:
        """Why no candidate may be begun any more; empty if one may."""
        spent_s = time.monotonic() - self._began_s
        if spent_s <= self._seconds * (1 - SHARE_OF_CANDIDATE):
            return ""
        return (
            f"not tried: the layer had taken {spent_s:.0f} s of {self._seconds:g} s; "
            "raise BENANZA_BENCHMARK_TIMEOUT_S, and retry"
        )


def _found(candidate: CpuCandidate, times: TimedCopies) -> Found:
    variant = timed_variant(
        candidate.library,
        candidate.algorithm,
        times.samples_us,
        times.stopped_by,
        layout=candidate.borders.layout,
    )
    return Found(variant, candidate.borders)


def _failed(candidate: CpuCandidate, reason: object) -> Variant:
    return refused(candidate.library, candidate.algorithm, candidate.borders.layout, reason)


def _named(name: str, candidate: CpuCandidate) -> str:
    """The candidate of this work, as the guard's journal names it: one line."""
    return f"{name} {candidate.library} {candidate.borders.layout} {candidate.algorithm}"
