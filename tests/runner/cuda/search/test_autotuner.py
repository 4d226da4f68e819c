"""The search among candidates, with a made-up library on a device whose clock is made up.

It needs neither a GPU nor CuPy.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.arrays import Array
from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.kernels.regions.in_place import InPlaceViews
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs, reference
from benanza_runner.cuda.search.autotuner import PLAN, PRUNE_FACTOR, Autotuner
from benanza_runner.cuda.search.guard import BLOCKLISTED, Guard
from benanza_runner.cuda.search.layout_conversions import LayoutConversions
from benanza_runner.cuda.search.replays import FULL_CALLS, FULL_US, SCREENING_US, WAKE_US
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.measuring.throttling import TRIES, Undisturbed
from benanza_runner.onnx_layers.precision import retyped
from benanza_runner.variants import warm
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision
from benanza_schemas.times import time_us
from benanza_schemas.vocabulary import GENERATED, CacheState, StoppedBy
from tests.runner.cuda.lowering.test_in_place import TO_TOKENS
from tests.runner.cuda.made_up_device import (
    CONVERSION_US,
    START_US,
    BrokenLibrary,
    MadeUpDevice,
    MadeUpInterleavedTimer,
    MadeUpLibrary,
    MadeUpVariant,
)
from tests.runner.layers import conv, relu

CONV = conv(4, 5)
EXPECTED: Array = np.random.default_rng(1).random((1, 4, 5, 5), np.float32) + 1


def workspace(precision: Precision = "fp32") -> Workspace:
    return Workspace(lower(CONV, random_inputs(CONV, precision)), precision, DeviceMemory(np))


def unguarded() -> Guard:
    return Guard(None, 60, lambda: None)


class Searched(NamedTuple):
    """What a search found, on which device, by algorithm."""

    variants: list[Variant]
    device: MadeUpDevice

    def timed(self, algorithm: str) -> Variant:
        (found,) = (each for each in warm(self.variants) if each.algorithm == algorithm)
        return found

    def failure(self, algorithm: str) -> str:
        (found,) = (each for each in self.variants if each.algorithm == algorithm)
        return found.failure

    def stopped_by(self) -> dict[str, StoppedBy]:
        return {each.algorithm: each.stopped_by for each in warm(self.variants)}


def searched(
    variants: Sequence[MadeUpVariant],
    guard: Guard | None = None,
    interleaved: MadeUpInterleavedTimer | None = None,
    noise: float = 0.0,
    libraries: Sequence[CandidateSource] = (),
    precision: Precision = "fp32",
) -> Searched:
    device = MadeUpDevice(noise)
    library = MadeUpLibrary(device, variants, EXPECTED)
    conversions = LayoutConversions(device, device.convert, interleaved)
    autotuner = Autotuner(
        (*libraries, library), device, guard or unguarded(), conversions, interleaved
    )
    return Searched(autotuner.variants(workspace(precision), [EXPECTED], "work"), device)


def test_it_imports_no_cupy() -> None:
    """So that it is tested where there is no GPU."""
    program = "import sys, benanza_runner.cuda.search.autotuner; sys.exit('cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_fastest_is_found() -> None:
    variants = [MadeUpVariant(f"engine {us}", us) for us in (14.0, 12.0, 10.0, 11.0, 13.0)]
    found = searched(variants)
    best = min(warm(found.variants), key=time_us)
    assert best.algorithm == "engine 10.0"
    assert best.stopped_by.in_full
    # Some hundred calls of a replay share its start.
    assert best.median_us == pytest.approx(10.0 + START_US / 100, rel=1e-3)
    assert best.library == "made-up"
    assert len(warm(found.variants)) == len(variants)


def test_the_device_is_awake_before_the_search() -> None:
    found = searched([MadeUpVariant("only", 200.0)])
    assert found.device.now_us > WAKE_US + PLAN.rule.warm_up_us + PLAN.rule.least_us


def test_what_is_clearly_slower_is_screened_and_no_more() -> None:
    found = searched([MadeUpVariant("fast", 200.0), MadeUpVariant("slow", 600.0)])
    assert found.stopped_by() == {"fast": StoppedBy.CONVERGED, "slow": StoppedBy.SCREENED}
    # The run that checks it is its only sample.
    assert found.timed("slow").samples_us == (600.0 + START_US,)
    assert found.device.runs["slow"] == 1
    assert found.device.runs["fast"] > 10


def test_short_calls_are_screened_with_many_in_one_replay() -> None:
    found = searched([MadeUpVariant("fast", 10.0), MadeUpVariant("slow", 30.0)])
    slow = found.timed("slow")
    assert slow.stopped_by == StoppedBy.SCREENED
    assert len(slow.samples_us) == PLAN.rounds[0].samples
    assert slow.median_us == pytest.approx(30.0, rel=0.05)
    # It was checked twice, and then screened once.
    assert found.device.replays["slow"] == 3


def test_few_are_timed_in_full() -> None:
    found = searched([MadeUpVariant(f"engine {at}", 10 + at / 1000) for at in range(20)])
    full = [each for each in warm(found.variants) if each.stopped_by.in_full]
    assert 1 <= len(full) <= 3
    assert "engine 0" in [each.algorithm for each in full]
    assert all(len(each.samples_us) >= PLAN.rule.samples for each in full)


def test_the_best_of_each_layout_is_timed_in_full() -> None:
    found = searched(
        [
            MadeUpVariant("first", 10.0, "NCHW"),
            MadeUpVariant("last", 40.0, "NHWC"),
            MadeUpVariant("last, slower", 45.0, "NHWC"),
            MadeUpVariant("whichever", 50.0),
        ]
    )
    assert found.stopped_by() == {
        "first": StoppedBy.CONVERGED,
        "last": StoppedBy.CONVERGED,
        "last, slower": StoppedBy.SCREENED,
        "whichever": StoppedBy.CONVERGED,
    }


def test_what_is_many_times_slower_is_pruned() -> None:
    slow_us = PRUNE_FACTOR * 100.0
    found = searched([MadeUpVariant("fast", 10.0), MadeUpVariant("slow", slow_us)])
    slow = found.timed("slow")
    assert slow.stopped_by == StoppedBy.PRUNED
    assert slow.samples_us == (slow_us + START_US,)
    # It is run a second time before it is given up, and never again.
    assert found.device.runs["slow"] == 2


def test_a_library_s_best_is_timed_in_full_however_fast_generated_kernels_are() -> None:
    found = searched(
        [
            MadeUpVariant("generated", 10.0, library=GENERATED),
            MadeUpVariant("generated, slow", 5_000.0, library=GENERATED),
            MadeUpVariant("library", 5_000.0),
            MadeUpVariant("library, slower", 9_000.0),
        ]
    )
    assert found.stopped_by() == {
        "generated": StoppedBy.CONVERGED,
        "generated, slow": StoppedBy.PRUNED,
        "library": StoppedBy.CONVERGED,
        "library, slower": StoppedBy.SCREENED,
    }


def test_only_what_is_slower_than_something_known_is_pruned() -> None:
    found = searched([MadeUpVariant("slow", 5_000.0), MadeUpVariant("fast", 10.0)])
    assert found.stopped_by() == {"slow": StoppedBy.SCREENED, "fast": StoppedBy.CONVERGED}


def test_a_slow_first_run_alone_does_not_prune() -> None:
    found = searched([MadeUpVariant("fast", 10.0), MadeUpVariant("fastest", 9.0, first_us=5_000.0)])
    assert found.timed("fastest").stopped_by == StoppedBy.CONVERGED


def test_pruned_and_failed_variants_come_last() -> None:
    found = searched(
        [
            MadeUpVariant("wrong", 10.0, wrong=True),
            MadeUpVariant("fast", 10.0),
            MadeUpVariant("slow", 5_000.0),
        ]
    )
    assert [each.algorithm for each in found.variants] == ["fast", "slow", "wrong"]


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16"])
def test_a_wrong_result_is_a_failure(precision: Precision) -> None:
    found = searched(
        [
            MadeUpVariant("right", 10.0),
            MadeUpVariant("wrong", 1.0, wrong=True),
            MadeUpVariant("lazy", 1.0, writes_nothing=True),
        ],
        precision=precision,
    )
    assert [each.algorithm for each in warm(found.variants)] == ["right"]
    assert found.failure("wrong").startswith("wrong result: it is off by 1 of its norm")
    assert found.failure("lazy").startswith("wrong result: it is off by nan")


def test_a_failure_has_its_reason_and_costs_the_others_nothing() -> None:
    found = searched(
        [
            MadeUpVariant("broken", 1.0, fails_to_prepare=True, chosen_by_heuristic=True),
            MadeUpVariant("out of order", 1.0, fails_from_run=0),
            MadeUpVariant("not meant", 1.0, not_applicable=True),
            MadeUpVariant("right", 10.0, chosen_by_heuristic=True),
        ],
        libraries=[BrokenLibrary()],
    )
    assert found.failure("broken") == "no such engine"
    assert found.failure("out of order") == "out of order is out of order"
    assert found.timed("right").chosen_by_heuristic
    assert not any(each.algorithm == "not meant" for each in found.variants)
    (library,) = (each for each in found.variants if each.library == "BrokenLibrary")
    assert isinstance(library, Variant)
    assert library.failure == "its library isn't there"
    assert {each.algorithm for each in found.variants if each.chosen_by_heuristic} == {
        "broken",
        "right",
    }


def test_a_call_that_no_library_knows_has_no_variants() -> None:
    device = MadeUpDevice()
    library = MadeUpLibrary(device, [MadeUpVariant("any", 1.0)], EXPECTED)
    autotuner = Autotuner([library], device, unguarded(), LayoutConversions(device, device.convert))
    layer = relu(7)
    unknown = Workspace(lower(layer, random_inputs(layer, "fp32")), "fp32", DeviceMemory(np))
    assert autotuner.variants(unknown, [np.ones(7, np.float32)], "work") == []


class JournalGuard(Guard):
    """A guard that lists what it has watched."""

    def __init__(self, journal: Path | None = None) -> None:
        super().__init__(journal, 60, lambda: None)
        self.watched: list[str] = []

    def _write(self, running: str = "") -> None:
        super()._write(running)
        if running:
            self.watched.append(running)


def test_what_is_blocklisted_is_not_run(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.write_text(">work made-up  bad\n", encoding="utf-8")
    found = searched(
        [MadeUpVariant("bad", 1.0), MadeUpVariant("good", 10.0)], JournalGuard(journal)
    )
    assert found.failure("bad") == BLOCKLISTED
    assert found.device.runs["bad"] == 0
    assert found.timed("good").stopped_by == StoppedBy.CONVERGED


def test_after_a_search_that_ended_the_process_each_run_is_watched(tmp_path: Path) -> None:
    """So that the next process knows which one it was."""
    journal = tmp_path / "journal"
    variants = [MadeUpVariant("one", 10.0), MadeUpVariant("other", 10.0)]
    guard = JournalGuard(journal)
    searched(variants, guard)
    quiet = guard.watched.count(">work made-up  one\n")
    journal.write_text(">work search\n", encoding="utf-8")
    guard = JournalGuard(journal)
    found = searched(variants, guard)
    assert quiet == 3, "it was prepared, checked, and made ready for the search"
    assert guard.watched.count(">work made-up  one\n") > 10
    assert found.timed("one").stopped_by == found.timed("other").stopped_by == StoppedBy.CONVERGED


def test_an_error_that_lasts_ends_the_process_and_blocklists_its_cause(tmp_path: Path) -> None:
    def broken() -> None:
        raise RuntimeError("cudaErrorIllegalAddress")

    journal = tmp_path / "journal"
    variants = [MadeUpVariant("bad", 1.0, fails_from_run=0), MadeUpVariant("good", 10.0)]
    with pytest.raises(SystemExit, match="cudaErrorIllegalAddress"):
        searched(variants, Guard(journal, 60, broken))
    found = searched(variants, Guard(journal, 60, lambda: None))
    assert found.failure("bad") == BLOCKLISTED
    assert found.timed("good").stopped_by == StoppedBy.CONVERGED


def test_it_rests_and_tries_again_while_the_device_is_slowed_down() -> None:
    device, interleaved = MadeUpDevice(), MadeUpInterleavedTimer()
    library = MadeUpLibrary(device, [MadeUpVariant("first", 10.0, "NCHW")], EXPECTED)
    conversions = LayoutConversions(device, device.convert, interleaved)
    autotuner = Autotuner([library], device, unguarded(), conversions, interleaved)
    rested_at: list[float] = []
    device.slowed = [("power",), (), (), ("heat",)]
    given = workspace()
    variants, undisturbed = autotuner.undisturbed(
        given, [EXPECTED], "work", device, lambda: rested_at.append(device.now_us)
    )
    assert undisturbed == Undisturbed(True, 3, ("power", "heat"))
    assert len(rested_at) == 2
    assert 0 < rested_at[0] < rested_at[1] < device.now_us
    assert interleaved.forgotten == 2
    assert [each.algorithm for each in warm(variants)] == ["first"]


def test_it_gives_up_after_some_tries() -> None:
    device = MadeUpDevice()
    library = MadeUpLibrary(device, [MadeUpVariant("first", 10.0)], EXPECTED)
    autotuner = Autotuner([library], device, unguarded(), LayoutConversions(device, device.convert))
    device.slowed = [("power",)] * 100
    variants, undisturbed = autotuner.undisturbed(
        workspace(), [EXPECTED], "work", device, lambda: None
    )
    assert undisturbed == Undisturbed(False, TRIES, ("power",))
    assert warm(variants)


@given(
    st.lists(st.floats(1, 3_000), min_size=1, max_size=40),
    st.floats(0, 0.5),
)
def test_it_stops_within_its_budget(times_us: list[float], noise: float) -> None:
    """However many candidates there are, and however much their times scatter.

    A candidate costs two runs and its screening; the few that are timed in full cost the most that
    the rule allows. Noise may make a screened one look faster, which is then timed in full as well:
    so the bound counts how many were.
    """
    found = searched(
        [MadeUpVariant(f"engine {at}", us) for at, us in enumerate(times_us)], noise=noise
    )
    longest_us = max(times_us) * (1 + 30 * noise) + START_US
    screening_us = 2 * (SCREENING_US * (1 + 30 * noise) + START_US) + longest_us
    samples = sum(round.samples for round in PLAN.rounds)
    replay_us = max(2 * FULL_US * (1 + 30 * noise), longest_us) + START_US
    full = [each for each in warm(found.variants) if each.stopped_by.in_full]
    full_us = 2 * replay_us + PLAN.rule.warm_up_us + PLAN.rule.cap_us + replay_us
    least = PLAN.rule.few_samples * replay_us
    budget_us = len(times_us) * (2 * longest_us + samples * screening_us)
    budget_us += len(full) * max(full_us, 2 * replay_us + PLAN.rule.warm_up_us + least)
    budget_us += WAKE_US + longest_us + FULL_CALLS
    assert found.device.now_us <= budget_us
    assert all(len(each.samples_us) <= PLAN.rule.max_samples for each in full)


def test_noise_that_does_not_settle_ends_at_the_cap() -> None:
    found = searched([MadeUpVariant("noisy", 900.0)], noise=1.0)
    noisy = found.timed("noisy")
    assert noisy.stopped_by == StoppedBy.CAP
    assert found.device.now_us < 2 * PLAN.rule.cap_us


def test_layout_conversions_stand_beside_the_times() -> None:
    """A convolution reads one feature map and writes one; both may have to be converted."""
    found = searched(
        [
            MadeUpVariant("first", 10.0, "NCHW"),
            MadeUpVariant("last", 10.0, "NHWC"),
            MadeUpVariant("transposed", 10.0, "weights transposed"),
        ]
    )
    conversion_us = pytest.approx(CONVERSION_US, rel=0.01)
    for algorithm in ("first", "last"):
        variant = found.timed(algorithm)
        assert variant.write_change_us == conversion_us
        assert variant.layout_change_us == pytest.approx(2 * CONVERSION_US, rel=0.01)
    neither = found.timed("transposed")
    assert neither.layout_change_us is None
    assert neither.write_change_us == conversion_us


def test_the_best_of_each_layout_is_interleaved_with_other_kernels() -> None:
    found = searched(
        [
            MadeUpVariant("first", 10.0, "NCHW"),
            MadeUpVariant("last", 12.0, "NHWC"),
            MadeUpVariant("last, slower", 15.0, "NHWC"),
        ],
        interleaved=MadeUpInterleavedTimer(),
    )
    timed = [each for each in found.variants if not each.failure]
    for cache, more_us in ((CacheState.INTERLEAVED, 0.5), (CacheState.WEIGHTS_COLD, 2.0)):
        under = {each.algorithm: each for each in timed if each.cache == cache}
        assert under.keys() == {"first", "last"}
        for algorithm, variant in under.items():
            assert variant.stopped_by == StoppedBy.FIXED
            assert variant.median_us == time_us(found.timed(algorithm))[0] + more_us
            conversion_us = CONVERSION_US + 0.5
            assert variant.write_change_us == pytest.approx(conversion_us, rel=0.01)
            assert variant.layout_change_us == pytest.approx(2 * conversion_us, rel=0.01)


def test_without_an_interleaved_timer_there_are_warm_times_only() -> None:
    found = searched([MadeUpVariant("first", 10.0, "NCHW")])
    assert found.variants == [found.timed("first")]


def test_what_is_lost_in_noise_costs_the_interleaved_times_only(tmp_path: Path) -> None:
    lost = MadeUpInterleavedTimer(lost=True)
    found = searched([MadeUpVariant("first", 10.0, "NCHW")], interleaved=lost)
    assert found.timed("first").stopped_by == StoppedBy.CONVERGED
    assert found.timed("first").write_change_us == pytest.approx(CONVERSION_US, rel=0.01)
    assert found.failure("none") == "it takes nothing"
    journal = tmp_path / "journal"
    journal.write_text(">work interleaved\n", encoding="utf-8")
    found = searched(
        [MadeUpVariant("first", 10.0, "NCHW")],
        Guard(journal, 60, lambda: None),
        interleaved=MadeUpInterleavedTimer(),
    )
    assert found.timed("first").stopped_by == StoppedBy.CONVERGED
    assert found.failure("none") == BLOCKLISTED


def test_a_known_variant_is_checked_again_with_other_operands() -> None:
    device = MadeUpDevice()
    variants = [MadeUpVariant("right", 10.0), MadeUpVariant("wrong", 10.0, wrong=True)]
    library = MadeUpLibrary(device, variants, EXPECTED)
    autotuner = Autotuner([library], device, unguarded(), LayoutConversions(device, device.convert))
    known = searched([MadeUpVariant("right", 10.0)]).timed("right")
    wrong = searched([MadeUpVariant("wrong", 10.0)]).timed("wrong")
    gone = searched([MadeUpVariant("gone", 10.0)]).timed("gone")
    assert autotuner.wrong_again(workspace(), [EXPECTED], "work", known) == ""
    assert "wrong result" in autotuner.wrong_again(workspace(), [EXPECTED], "work", wrong)
    assert "don't offer" in autotuner.wrong_again(workspace(), [EXPECTED], "work", gone)


class CompilingLibrary:
    """Offers kernels that are compiled first, and notes what happens. `broken` doesn't compile."""

    library = "compiling"

    def __init__(self, device: MadeUpDevice) -> None:
        self.noted: list[str] = []
        self._device = device

    def candidates(self, workspace: Workspace) -> Iterator[Candidate]:
        for name in ("one", "broken", "other"):
            result = workspace.result(EXPECTED.shape)
            prepare, run = partial(self._prepare, name), partial(self._run, name, result)
            yield Candidate(self.library, name, "", prepare, run, result, compiles=True)

    def _prepare(self, name: str) -> int:
        self.noted.append(f"compile {name}")
        if name == "broken":
            raise ValueError("a syntax error")
        return 0

    def _run(self, name: str, result: DeviceTensor) -> None:
        self.noted.append(f"run {name}")
        self._device.run_for(name, 10.0)
        result.array[...] = EXPECTED


def compiled(guard: Guard) -> tuple[list[Variant], list[str]]:
    device = MadeUpDevice()
    library = CompilingLibrary(device)
    conversions = LayoutConversions(device, device.convert)
    autotuner = Autotuner((library,), device, guard, conversions)
    return autotuner.variants(workspace(), [EXPECTED], "work"), library.noted


def test_kernels_are_compiled_before_the_first_one_runs() -> None:
    variants, noted = compiled(unguarded())
    first = next(at for at, each in enumerate(noted) if each.startswith("run"))
    assert {"compile one", "compile broken", "compile other"} <= set(noted[:first])
    assert {variant.algorithm for variant in warm(variants)} == {"one", "other"}
    (failed,) = (each for each in variants if each.failure)
    assert (failed.algorithm, failed.failure) == ("broken", "a syntax error")


def test_where_compiling_ended_a_process_kernels_are_compiled_one_by_one(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.write_text(">work compile\n", encoding="utf-8")
    variants, noted = compiled(Guard(journal, 60, lambda: None))
    assert noted[:2] == ["compile one", "run one"]
    assert len(warm(variants)) == 2


def test_what_starts_nothing_is_right_and_takes_hardly_any_time() -> None:
    layer = retyped(TO_TOKENS, "fp32")
    given = reference(layer, "fp32", threads=1)
    device = MadeUpDevice()
    interleaved = MadeUpInterleavedTimer(lost=True)  # a call that is none can't be told from noise
    conversions = LayoutConversions(device, device.convert, interleaved)
    autotuner = Autotuner((InPlaceViews(),), device, unguarded(), conversions, interleaved)
    made = Workspace(lower(layer, given.values), "fp32", DeviceMemory(np))
    found = autotuner.variants(made, given.outputs, "work")
    alone, *within = found
    assert (alone.algorithm, alone.layout) == ("in place", "NHWC")
    assert time_us(alone)[0] < 0.1
    assert alone.layout_change_us == pytest.approx(CONVERSION_US, rel=0.05)
    assert alone.write_change_us == 0.0
    assert not any(each.failure for each in within)
    assert [each.cache for each in within] == [CacheState.INTERLEAVED, CacheState.WEIGHTS_COLD]
