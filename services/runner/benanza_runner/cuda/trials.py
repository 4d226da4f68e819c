"""Candidates checked and timed, each under guard."""

from collections.abc import Iterable, Iterator
from math import inf
from random import Random
from typing import Any, NamedTuple, Protocol

from benanza_runner.cuda.arrays import relative_error
from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.candidate import Candidate, NotMeantError, refused
from benanza_runner.cuda.graph_timer import GraphTimer
from benanza_runner.cuda.guard import Guard, end_if_fatal
from benanza_runner.measuring.error import wrong
from benanza_runner.measuring.search import Found, Plan, Trial, search
from benanza_runner.reasons import one_line
from benanza_runner.stopping import summary
from benanza_schemas.events import Variant

SEED = 20_200_218
HOPELESS = "hopeless"
HOPELESS_FACTOR = 10.0
"""What takes so many times as long as the fastest so far is not looked at again."""

CONDEMNED = "it ended the process that ran it, or took too long"


class Library(Protocol):
    """Offers candidates for the calls that it knows, and nothing for others."""

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]: ...


class Checked(NamedTuple):
    """A candidate whose result is right, and what one call took, its start included."""

    candidate: Candidate
    scratch_bytes: int
    once_us: float


class Trials:
    """Checks and times the candidates of calls on the timer's stream."""

    def __init__(self, libraries: Iterable[Library], timer: GraphTimer, guard: Guard) -> None:
        self._libraries = tuple(libraries)
        self._timer = timer
        self._guard = guard

    def variants(self, bench: Bench, expected: Any, name: str) -> list[Variant]:
        """All ways of running a call, those that were timed first; none if no library knows it.

        `expected` are the results that they should have, and `name` tells this work from other.
        """
        failed: list[Variant] = []
        hopeless: list[Variant] = []
        trials: list[tuple[Checked, Trial]] = []
        fastest_us = inf
        for candidate in self._offered(bench):
            checked = self._checked(candidate, bench, expected, name)
            if isinstance(checked, Variant):
                failed.append(checked)
            elif checked is not None and checked.once_us > HOPELESS_FACTOR * fastest_us:
                hopeless.append(_timed(checked, Found((checked.once_us,), HOPELESS)))
            elif checked is not None:
                trial = self._trial(checked, name)
                if isinstance(trial, Variant):
                    failed.append(trial)
                else:
                    fastest_us = min(fastest_us, checked.once_us)
                    trials.append((checked, trial))
        with self._guard.watching(f"{name} search"):
            found = search([trial for _, trial in trials], Plan(), Random(SEED))
        timed = [_timed(checked, each) for (checked, _), each in zip(trials, found, strict=True)]
        return [*timed, *hopeless, *failed]

    def wrong_again(self, bench: Bench, expected: Any, name: str, known: Variant) -> str:
        """Runs one known variant once more, with other operands: why its result is wrong."""
        for candidate in self._offered(bench):
            if isinstance(candidate, Candidate) and _is(candidate, known):
                checked = self._checked(candidate, bench, expected, name)
                return checked.failure if isinstance(checked, Variant) else ""
        return "the libraries don't offer it again"

    def _offered(self, bench: Bench) -> Iterator[Candidate | Variant]:
        for library in self._libraries:
            try:
                yield from library.candidates(bench)
            except Exception as error:  # noqa: BLE001  # it must not cost the other libraries
                end_if_fatal(error)
                yield refused(type(library).__name__, "none", "", error)

    def _checked(
        self, candidate: Candidate | Variant, bench: Bench, expected: Any, name: str
    ) -> Checked | Variant | None:
        """The candidate if it is right, or why it isn't; None if it isn't meant at all."""
        if isinstance(candidate, Variant):
            return candidate
        if self._guard.condemned(_name(name, candidate)):
            return _failed(candidate, CONDEMNED)
        with self._guard.watching(_name(name, candidate)):
            try:
                scratch_bytes = candidate.prepare()
                written = candidate.result, *candidate.more
                for result in written:
                    result.poison()
                candidate.run()
                errors = [
                    relative_error(result.floats(), wanted)
                    for result, wanted in zip(written, expected, strict=True)
                ]
                reason = next(filter(None, (wrong(e, bench.precision) for e in errors)), "")
                if reason:
                    return _failed(candidate, reason)
                once_us = min(self._timer.once_us(candidate.run) for _ in range(2))
            except NotMeantError:
                return None
            except Exception as error:  # noqa: BLE001  # the libraries' errors share no base
                end_if_fatal(error)
                return _failed(candidate, one_line(str(error)))
        return Checked(candidate, scratch_bytes, once_us)

    def _trial(self, checked: Checked, name: str) -> Trial | Variant:
        """The candidate as a graph, or why it is none."""
        with self._guard.watching(_name(name, checked.candidate)):
            try:
                return self._timer.trial(checked.candidate.run, checked.once_us)
            except Exception as error:  # noqa: BLE001  # the libraries' errors share no base
                end_if_fatal(error)
                return _failed(checked.candidate, one_line(str(error)))


def _name(name: str, candidate: Candidate) -> str:
    return f"{name} {candidate.library} {candidate.layout} {candidate.algorithm}"


def _is(candidate: Candidate, known: Variant) -> bool:
    same = candidate.library, candidate.algorithm, candidate.layout
    return same == (known.library, known.algorithm, known.layout)


def _failed(candidate: Candidate, reason: str) -> Variant:
    return refused(candidate.library, candidate.algorithm, candidate.layout, reason)


def _timed(checked: Checked, found: Found) -> Variant:
    times = summary(sorted(found.samples_us))
    return Variant(
        library=checked.candidate.library,
        algorithm=checked.candidate.algorithm,
        layout=checked.candidate.layout,
        samples_us=found.samples_us,
        minimum_us=times.minimum,
        median_us=times.median,
        iqr_us=times.iqr,
        stopped_by=found.stopped_by,
        workspace_bytes=checked.scratch_bytes,
    )
