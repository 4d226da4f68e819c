"""Candidates are checked, the much slower ones pruned, and the fastest found, under guard."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from math import inf
from random import Random

from benanza_runner.arrays import Array
from benanza_runner.cpu import available_cores
from benanza_runner.cuda.candidate import Candidate, failed, refused
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.layouts import feature_map_layout
from benanza_runner.cuda.search.check import Checked, candidate_name, check, timed
from benanza_runner.cuda.search.guard import Guard
from benanza_runner.cuda.search.instruments import Device, InterleavedTimer, Timer
from benanza_runner.cuda.search.layout_conversions import LayoutConversions
from benanza_runner.cuda.search.replays import trial, wake
from benanza_runner.cuda.search.within_models import WithinModels
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.measuring.sampling import Timing
from benanza_runner.measuring.search import Batch, SearchPlan, Trial, VariantSamples, search
from benanza_runner.measuring.throttling import Undisturbed, until_undisturbed
from benanza_schemas.events import Variant
from benanza_schemas.vocabulary import GENERATED, StoppedBy

SEED = 20_200_218
PRUNE_FACTOR = 10.0
PLAN = SearchPlan()

Expected = Sequence[Array]


class Autotuner:
    """Checks and times the candidates of calls with the timer, by this plan.

    A candidate is pruned if two runs take `prune_factor` times as long as the fastest so far, of
    the libraries or of the generated kernels, whichever it is. With `interleaved`, the best
    variants are timed interleaved with other kernels as well.
    """

    def __init__(
        self,
        libraries: Iterable[CandidateSource],
        timer: Timer,
        guard: Guard,
        conversions: LayoutConversions,
        interleaved: InterleavedTimer | None = None,
        plan: SearchPlan = PLAN,
        prune_factor: float = PRUNE_FACTOR,
    ) -> None:
        self._libraries = tuple(libraries)
        self._timer = timer
        self._guard = guard
        self._within_models = WithinModels(conversions, interleaved, guard)
        self._plan = plan
        self._prune_factor = prune_factor

    def undisturbed(
        self,
        workspace: Workspace,
        expected: Expected,
        name: str,
        device: Device,
        rest: Callable[[], None],
    ) -> tuple[list[Variant], Undisturbed]:
        """As `variants`, but again where something slowed the device down meanwhile.

        Before it is tried again, remembered times are dropped, and `rest` leaves the device idle.
        """
        return until_undisturbed(
            lambda: self.variants(workspace, expected, name),
            device.slowed_by,
            device.slowed_at_work_by,
            self._within_models.forget,
            rest,
        )

    def variants(self, workspace: Workspace, expected: Expected, name: str) -> list[Variant]:
        """All ways of running a call: the timed ones first, then those pruned, then failures.

        `expected` are the results that they should have, as float32, and `name` tells this work
        from other work. There are none if no library knows the call.
        """
        expected = [workspace.memory.floats(array) for array in expected]
        failures: list[Variant] = []
        pruned: list[Variant] = []
        trials: list[tuple[Checked, Trial]] = []
        # By whether a kernel is generated: the libraries' times count by themselves, too.
        fastest_us = {True: inf, False: inf}
        for offered in self._offered(workspace, compiled_as=f"{name} compile"):
            if isinstance(offered, Variant):
                failures.append(offered)
                continue
            generated = offered.library == GENERATED
            pruned_us = self._prune_factor * fastest_us[generated]
            checked = self._checked(offered, workspace, expected, name, pruned_us)
            if isinstance(checked, Variant):
                failures.append(checked)
            elif checked is not None and checked.once_us > pruned_us:
                pruned.append(timed(checked, VariantSamples((checked.once_us,), StoppedBy.PRUNED)))
            elif checked is not None:
                made = self._trial(checked, name)
                if isinstance(made, Variant):
                    failures.append(made)
                else:
                    # What starts nothing says little about how fast a kernel can be.
                    if not offered.in_place:
                        fastest_us[generated] = min(fastest_us[generated], checked.once_us)
                    trials.append((checked, made))
        right = [checked for checked, _ in trials]
        samples = self._searched(trials, name)
        warm = [timed(*pair) for pair in zip(right, samples, strict=True)]
        return [*self._within_models.added(right, warm, workspace, name), *pruned, *failures]

    def _searched(self, trials: Sequence[tuple[Checked, Trial]], name: str) -> list[VariantSamples]:
        work = f"{name} search"
        if self._guard.blocklisted(work):
            # One of them ended the process when it ran again and again: this time, by name.
            made = [
                self._watched(unwatched, candidate_name(name, of.candidate))
                for of, unwatched in trials
            ]
        else:
            made = [
                unwatched._replace(full=self._watching(work, unwatched.full))
                for _, unwatched in trials
            ]

        if made:
            with self._guard.running(work):
                wake(made[0].screening)
        return search(made, self._plan, Random(SEED), lambda: self._guard.running(work))

    def _watched(self, made: Trial, candidate: str) -> Trial:
        """The trial with each of its runs under guard, which takes longer."""

        def watched(batch: Batch) -> Batch:
            def run() -> Timing:
                with self._guard.watching(candidate):
                    return batch.run()

            return Batch(run, batch.calls)

        full = self._watching(candidate, lambda call_us: watched(made.full(call_us)))
        return made._replace(screening=watched(made.screening), full=full)

    def _watching(self, name: str, make: Callable[[float], Batch]) -> Callable[[float], Batch]:
        def full(call_us: float) -> Batch:
            with self._guard.watching(name):
                return make(call_us)

        return full

    def wrong_again(
        self, workspace: Workspace, expected: Expected, name: str, known: Variant
    ) -> str:
        """Runs one known variant once more, with other operands.

        Returns why its result is wrong, or an empty string if it is right.
        """
        expected = [workspace.memory.floats(array) for array in expected]
        for candidate in self._offered(workspace):
            if isinstance(candidate, Candidate) and _is(candidate, known):
                checked = self._checked(candidate, workspace, expected, name)
                return checked.failure if isinstance(checked, Variant) else ""
        return "the libraries don't offer it again"

    def _offered(
        self, workspace: Workspace, compiled_as: str = ""
    ) -> Iterator[Candidate | Variant]:
        """What the libraries offer; kernels are compiled ahead under this name, if there is one."""
        for library in self._libraries:
            try:
                offered = library.candidates(workspace)
                first = next(offered, None)
                ahead = [] if first is None else [first]
                if compiled_as and isinstance(first, Candidate) and first.compiles:
                    ahead += offered
                    self._compile(ahead, compiled_as)
                # Other libraries go by which of their candidates could be prepared so far.
                yield from ahead
                yield from offered
            except Exception as error:  # noqa: BLE001  # it must not cost the other libraries
                self._guard.end_if_lasting(error)
                yield refused(type(library).__name__, "none", "", error)

    def _compile(self, offered: Iterable[Candidate | Variant], work: str) -> None:
        """Compiles candidates side by side, which takes longer than to run them."""
        ahead = [
            candidate
            for candidate in offered
            if isinstance(candidate, Candidate) and candidate.compiles
        ]
        if not self._guard.blocklisted(work):
            with self._guard.watching(work), ThreadPoolExecutor(available_cores()) as pool:
                list(pool.map(_prepared, ahead))

    def _checked(
        self,
        candidate: Candidate,
        workspace: Workspace,
        expected: Expected,
        name: str,
        pruned_us: float = inf,
    ) -> Checked | Variant | None:
        return check(candidate, workspace, expected, name, self._timer, self._guard, pruned_us)

    def _trial(self, checked: Checked, name: str) -> Trial | Variant:
        """The candidate as replays of graphs, or why it can't be one."""
        candidate = checked.candidate
        with self._guard.watching(candidate_name(name, candidate)):
            try:
                origin = GENERATED if candidate.library == GENERATED else "library"
                kind = f"{feature_map_layout(candidate.layout)} {origin}"
                return trial(self._timer, candidate.run, checked.once, checked.once_us, kind)
            except Exception as error:  # noqa: BLE001  # the libraries' errors share no base
                self._guard.end_if_lasting(error)
                return failed(candidate, error)


def _prepared(candidate: Candidate) -> None:
    # An error comes again when the candidate is checked.
    with suppress(Exception):
        candidate.prepare()


def _is(candidate: Candidate, known: Variant) -> bool:
    same = candidate.library, candidate.algorithm, candidate.layout
    return same == (known.library, known.algorithm, known.layout)
