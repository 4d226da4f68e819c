"""Candidates checked and timed, each under guard."""

from collections.abc import Iterable, Iterator
from math import inf
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec

from benanza_runner.cuda.arrays import relative_error
from benanza_runner.cuda.bench import Bench
from benanza_runner.cuda.candidate import Candidate, NotMeantError, failed, refused
from benanza_runner.cuda.company import Company
from benanza_runner.cuda.graph_timer import LOOK_US, GraphTimer
from benanza_runner.cuda.guard import Guard
from benanza_runner.cuda.layout_changes import LayoutChanges
from benanza_runner.cuda.layouts import best_by_layout, image_layout
from benanza_runner.measuring.error import wrong
from benanza_runner.measuring.search import Batch, Found, Plan, Trial, search
from benanza_runner.sampling import Timing
from benanza_runner.stopping import summary
from benanza_schemas.events import (
    FIXED,
    INTERLEAVED,
    PRUNED,
    WARM,
    WEIGHTS_COLD,
    Cache,
    Variant,
)

SEED = 20_200_218
HOPELESS_FACTOR = 10.0
PLAN = Plan()

CONDEMNED = "it ended the process that ran it, or took too long"

"""Stands where so many samples were to be taken, whatever they showed."""

COMPANY = "company"


class Library(Protocol):
    """Offers candidates for the calls that it knows, and nothing for others.

    `library` is what its candidates name as theirs.
    """

    library: str

    def candidates(self, bench: Bench) -> Iterator[Candidate | Variant]: ...


class Checked(NamedTuple):
    """A candidate whose result is right, its scratch memory, a replay of one call, and what that
    took, start included.
    """

    candidate: Candidate
    scratch_bytes: int
    scratch: Any | None
    once: Batch
    once_us: float


class Trials:
    """Checks and times the candidates of calls on the timer's stream, by this plan.

    What takes `hopeless_factor` times as long as the fastest so far, twice, isn't searched among.
    With `company` the best variants are timed in the company of other calls as well.
    """

    def __init__(
        self,
        libraries: Iterable[Library],
        timer: GraphTimer,
        guard: Guard,
        company: Company | None = None,
        plan: Plan = PLAN,
        hopeless_factor: float = HOPELESS_FACTOR,
    ) -> None:
        self._libraries = tuple(libraries)
        self._timer = timer
        self._guard = guard
        self._company = company
        self._changes = LayoutChanges(timer, company)
        self._plan = plan
        self._hopeless_factor = hopeless_factor

    def variants(self, bench: Bench, expected: Any, name: str) -> list[Variant]:
        """All ways of running a call, those that were timed first; none if no library knows it.

        `expected` are the results that they should have, and `name` tells this work from other.
        """
        failures: list[Variant] = []
        hopeless: list[Variant] = []
        trials: list[tuple[Checked, Trial]] = []
        fastest_us = inf
        for candidate in self._offered(bench):
            hopeless_us = self._hopeless_factor * fastest_us
            checked = self._checked(candidate, bench, expected, name, hopeless_us)
            if isinstance(checked, Variant):
                failures.append(checked)
            elif checked is not None and checked.once_us > hopeless_us:
                hopeless.append(_timed(checked, Found((checked.once_us,), PRUNED)))
            elif checked is not None:
                trial = self._trial(checked, name)
                if isinstance(trial, Variant):
                    failures.append(trial)
                else:
                    fastest_us = min(fastest_us, checked.once_us)
                    trials.append((checked, trial))
        whole = f"{name} search"
        if self._guard.condemned(whole):
            # One of them ended the process when it ran again and again: this time, by name.
            trials = [(checked, self._watched(checked, trial, name)) for checked, trial in trials]
        with self._guard.watching(whole):
            if trials:
                self._timer.wake(trials[0][1].look)
            found = search([trial for _, trial in trials], self._plan, Random(SEED))
        right = [checked for checked, _ in trials]
        timed = [_timed(*each) for each in zip(right, found, strict=True)]
        return [*self._within_models(right, timed, bench, name), *hopeless, *failures]

    def _watched(self, checked: Checked, trial: Trial, name: str) -> Trial:
        """The trial with each of its runs under guard, which takes longer."""

        def watched(batch: Batch) -> Batch:
            def run() -> Timing:
                with self._guard.watching(_name(name, checked.candidate)):
                    return batch.run()

            return Batch(run, batch.calls)

        def full() -> Batch:
            with self._guard.watching(_name(name, checked.candidate)):
                return watched(trial.full())

        return trial._replace(look=watched(trial.look), full=full)

    def _within_models(
        self, checked: list[Checked], timed: list[Variant], bench: Bench, name: str
    ) -> list[Variant]:
        """These variants with what changes of layout take around them, and the best of them in the
        company of others, which costs no more than that where it fails.
        """
        with self._guard.watching(f"{name} turned"):
            turned = [self._turned(variant, bench) for variant in timed]
        where = f"{name} in company"
        if self._guard.condemned(where):
            return [*turned, refused(COMPANY, "none", "", CONDEMNED)]
        with self._guard.watching(where):
            try:
                accompanied = [
                    self._turned(variant, bench)
                    for place in best_by_layout(turned)
                    for variant in self._accompanied(checked[place], turned[place], bench)
                ]
            except Exception as error:  # noqa: BLE001  # the times so far are good without
                self._guard.end_if_lasting(error)
                return [*turned, refused(COMPANY, "none", "", error)]
        return [*turned, *accompanied]

    def forget(self) -> None:
        """Drops the times that one layer's trials leave for the next's."""
        self._changes.forget()
        if self._company is not None:
            self._company.forget()

    def _turned(self, variant: Variant, bench: Bench) -> Variant:
        """The variant with what changes of layout take around it, as it was timed itself."""
        around = self._changes.around(bench, variant.layout)
        after = self._changes.after(bench, variant.layout)
        alone = variant.cache == WARM
        return msgspec.structs.replace(
            variant,
            layout_change_us=around and (around.alone_us if alone else around.in_company_us),
            write_change_us=after.alone_us if alone else after.in_company_us,
        )

    def _accompanied(self, checked: Checked, alone: Variant, bench: Bench) -> Iterator[Variant]:
        """The same variant in the company of others, with its weights warm and cold."""
        if self._company is None:
            return
        run, alone_us = checked.candidate.run, alone.median_us or 0.0
        samples = self._company.in_company_us(run, alone_us)
        yield _timed(checked, Found(samples, FIXED), INTERLEAVED)
        read = bench.read(checked.candidate.layout)
        result = checked.candidate.result
        samples = self._company.weights_cold_us(run, alone_us, read, result, checked.scratch)
        yield _timed(checked, Found(samples, FIXED), WEIGHTS_COLD)

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
                self._guard.end_if_lasting(error)
                yield refused(type(library).__name__, "none", "", error)

    def _checked(
        self,
        candidate: Candidate | Variant,
        bench: Bench,
        expected: Any,
        name: str,
        hopeless_us: float = inf,
    ) -> Checked | Variant | None:
        """The candidate if it is right, or why it isn't; None if it isn't meant at all.

        It runs once; twice if that is quickly done, or if it seems hopeless, as then nobody looks
        at it again.
        """
        if isinstance(candidate, Variant):
            return candidate
        if self._guard.condemned(_name(name, candidate)):
            return failed(candidate, CONDEMNED)
        with self._guard.watching(_name(name, candidate)):
            try:
                scratch_bytes = candidate.prepare()
                scratch = bench.last_scratch(scratch_bytes)
                written = candidate.result, *candidate.more
                for result in written:
                    result.poison()
                # Only ever run as a graph: some of cuDNN's algorithms make the process slow when
                # they are run outside of one (docs/gpu.md).
                once = self._timer.replayed(candidate.run, 1)
                once_us = once.call_us()
                errors = [
                    relative_error(result.floats(), wanted)
                    for result, wanted in zip(written, expected, strict=True)
                ]
                # Integers aren't rounded.
                precisions = ("fp32" if r.element else bench.precision for r in written)
                reason = next(filter(None, map(wrong, errors, precisions)), "")
                if reason:
                    return failed(candidate, reason)
                if not LOOK_US <= once_us <= hopeless_us:
                    once_us = min(once_us, once.call_us())
            except NotMeantError:
                return None
            except Exception as error:  # noqa: BLE001  # the libraries' errors share no base
                self._guard.end_if_lasting(error)
                return failed(candidate, error)
        return Checked(candidate, scratch_bytes, scratch, once, once_us)

    def _trial(self, checked: Checked, name: str) -> Trial | Variant:
        """The candidate as a graph, or why it is none."""
        with self._guard.watching(_name(name, checked.candidate)):
            try:
                kind = image_layout(checked.candidate.layout)
                return self._timer.trial(checked.candidate.run, checked.once, checked.once_us, kind)
            except Exception as error:  # noqa: BLE001  # the libraries' errors share no base
                self._guard.end_if_lasting(error)
                return failed(checked.candidate, error)


def _name(name: str, candidate: Candidate) -> str:
    return f"{name} {candidate.library} {candidate.layout} {candidate.algorithm}"


def _is(candidate: Candidate, known: Variant) -> bool:
    same = candidate.library, candidate.algorithm, candidate.layout
    return same == (known.library, known.algorithm, known.layout)


def _timed(checked: Checked, found: Found, cache: Cache = WARM) -> Variant:
    times = summary(sorted(found.samples_us))
    return Variant(
        library=checked.candidate.library,
        algorithm=checked.candidate.algorithm,
        layout=checked.candidate.layout,
        cache=cache,
        samples_us=found.samples_us,
        minimum_us=times.minimum,
        median_us=times.median,
        iqr_us=times.iqr,
        stopped_by=found.stopped_by,
        workspace_bytes=checked.scratch_bytes,
        chosen_by_heuristic=checked.candidate.chosen_by_heuristic,
    )
