"""What every adapter of `Runtime` must do: a suite that each adapter's tests inherit."""

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from statistics import median
from typing import get_args

import msgspec
import pytest

from benanza_runner import ceilings
from benanza_runner.core import Runner
from benanza_runner.runtime import Outcome, RunResult, Runtime
from benanza_runner.variants import warm
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import (
    MAX_REASON_LENGTH,
    BenchmarkRequested,
    CeilingName,
    event_id,
    identified,
)
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Choice, Program, ProgramStep
from benanza_schemas.times import time_us
from tests.runner.layers import floats, gemm, relu, single

UNKNOWN = single("Nonsense", 1, (floats(2),), (floats(2),), domain="nobody")
"""An operator that no runtime knows."""

PROGRAM = Program(
    (ProgramStep((0,), "compute", "f" * 32, relu(2), ("x", "y"), Choice("nobody", "nothing", "")),),
    ("y",),
)
"""A model that no library runs."""


def job(layer: Layer) -> BenchmarkRequested:
    found = fingerprint(layer)
    requested = event_id("BenchmarkRequested", found)
    return BenchmarkRequested(event_id=requested, fingerprint=found, layer=layer)


def names(outcome: Outcome) -> list[tuple[str, str, str]]:
    return [(each.library, each.algorithm, each.layout) for each in outcome.variants]


class RuntimeContract(ABC):
    """Subclasses give the `runtime`, and say what it can't measure.

    One that `runs_every_model` runs the model that no library runs, too.
    """

    runs_every_model = False

    @abstractmethod
    @pytest.fixture
    def runtime(self) -> Runtime:
        """The runtime under test."""

    @pytest.fixture
    def unmeasurable(self) -> tuple[Layer, Precision]:
        """A layer at a precision of which the runtime can time nothing."""
        return UNKNOWN, "fp32"

    # The system

    def test_the_system_has_its_id_and_stays_the_same(self, runtime: Runtime) -> None:
        system = runtime.system()
        assert system == identified(system)
        assert system.runtime
        assert system.method
        assert system.threads >= 1
        assert runtime.system() == system

    def test_the_cache_has_a_size_or_none_that_is_known(self, runtime: Runtime) -> None:
        assert runtime.cache_bytes() >= 0
        assert runtime.cache_bytes() == runtime.cache_bytes()

    # Layers

    @pytest.mark.parametrize("layer", [relu(64), gemm(2, 8, 4)], ids=Layer.title)
    def test_a_layer_has_times_of_which_the_summary_is_right(
        self, runtime: Runtime, layer: Layer
    ) -> None:
        outcome = runtime.measure(layer, "fp32")
        assert outcome.failure == ""
        timed = [each for each in outcome.variants if not each.failure]
        assert warm(timed)
        for variant in timed:
            assert variant.library
            assert variant.algorithm
            assert variant.samples_us
            assert variant.minimum_us == min(variant.samples_us) >= 0
            median_us, iqr_us = time_us(variant)
            assert median_us == pytest.approx(median(variant.samples_us))
            assert 0 <= iqr_us <= max(variant.samples_us) - min(variant.samples_us)
            assert variant.workspace_bytes >= 0

    def test_a_variant_that_failed_says_why(self, runtime: Runtime) -> None:
        outcome = runtime.measure(gemm(2, 8, 4), "fp32")
        failed = [each for each in outcome.variants if each.failure]
        assert all(len(each.failure) <= MAX_REASON_LENGTH for each in failed)

    def test_the_same_layer_has_the_same_variants_again(self, runtime: Runtime) -> None:
        first, again = (runtime.measure(relu(100), "fp32") for _ in range(2))
        assert names(first) == names(again)

    def test_what_can_not_be_measured_is_a_failure_and_no_exception(
        self, runtime: Runtime, unmeasurable: tuple[Layer, Precision]
    ) -> None:
        outcome = runtime.measure(*unmeasurable)
        assert warm(outcome.variants) == []
        reasons = [outcome.failure] if outcome.failure else []
        reasons += [each.failure for each in outcome.variants if each.failure]
        assert reasons
        assert all("\n" not in reason and len(reason) <= MAX_REASON_LENGTH for reason in reasons)
        assert not (outcome.failure and outcome.variants)

    def test_a_failure_costs_the_next_layer_nothing(
        self, runtime: Runtime, unmeasurable: tuple[Layer, Precision]
    ) -> None:
        runtime.measure(*unmeasurable)
        assert warm(runtime.measure(relu(64), "fp32").variants)

    def test_what_was_seen_around_the_measurement_is_in_words(self, runtime: Runtime) -> None:
        environment = runtime.measure(relu(64), "fp32").environment
        assert all(key and "\n" not in value for key, value in environment.items())

    def test_what_came_of_a_layer_can_be_sent_and_published(
        self, runtime: Runtime, unmeasurable: tuple[Layer, Precision]
    ) -> None:
        failing, precision = unmeasurable
        for layer in (relu(64), failing):
            outcome = runtime.measure(layer, precision)
            packed = msgspec.msgpack.encode(outcome)
            assert msgspec.msgpack.decode(packed, type=Outcome) == outcome
        runner = Runner(runtime, [precision], lambda: datetime(2026, 1, 1, tzinfo=UTC))
        for event in runner.handle(job(failing)):
            assert decode(encode(event)) == event

    # The system's ceilings

    def test_there_is_at_most_one_ceiling_of_each_name(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ceilings, "STREAM_ELEMENTS", (1 << 12,))
        monkeypatch.setattr(ceilings, "MATRIX_SIZES", (64,))
        found = runtime.ceilings("fp32")
        known = [ceiling.name for ceiling in found]
        assert known
        assert set(known) <= set(get_args(CeilingName))
        assert len(known) == len(set(known))
        assert all(each.precision == "fp32" and each.value > 0 <= each.iqr for each in found)

    # Whole models

    def test_a_model_that_can_not_be_run_is_a_failure_and_no_exception(
        self, runtime: Runtime
    ) -> None:
        run_result = runtime.witness(PROGRAM, "fp32")
        if self.runs_every_model:
            assert run_result.sequential is not None
        else:
            assert run_result.failure
            assert run_result.sequential is run_result.read_ahead is run_result.parallel is None
        packed = msgspec.msgpack.encode(run_result)
        assert msgspec.msgpack.decode(packed, type=RunResult) == run_result
