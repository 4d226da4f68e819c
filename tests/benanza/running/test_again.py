"""Layers are measured anew: on demand, and once a busy machine has become quiet."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from benanza.request import RunRequest
from benanza.results.bounds import LowerBounds
from benanza.running import pipeline
from benanza_runner.measuring.busy import OTHERS
from benanza_runner.runtime import Outcome
from benanza_schemas.layer import Layer, Precision
from tests.benanza.data_folder import settings_in
from tests.runner.fake_runtime import FakeRuntime, variant

pytestmark = pytest.mark.integration

MODEL = "zoo:squeezenet"


class Machine(FakeRuntime):
    """Takes three times as long while it is busy, which it is for so many measurements."""

    def __init__(self, busy: int) -> None:
        super().__init__()
        self.busy = busy
        self.measured = 0
        self.asked = 0

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        self.measured += 1
        if self.measured > self.busy:
            return Outcome(variants=(variant(1.0),), environment={"stable": "yes"})
        said = {"stable": "no", "slowed_by": OTHERS}
        return Outcome(variants=(variant(3.0),), environment=said)

    def is_quiet(self) -> bool:
        self.asked += 1
        return self.busy < 1_000_000


def run(folder: Path, machine: Machine, *, again: bool = False) -> LowerBounds:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "open_runtime", lambda *_: nullcontext(machine))
        return pipeline.run(
            RunRequest(models=(MODEL,), again=again),
            settings_in(folder),
            is_quiet=machine.is_quiet,
        )


def test_what_was_timed_on_a_busy_machine_is_timed_again(tmp_path: Path) -> None:
    machine = Machine(busy=20)
    found = run(tmp_path, machine)
    (bound,) = found.bounds
    assert machine.asked == 1
    assert machine.measured == found.layers.unique + 20
    assert bound.slowed.calls == 0
    quiet = run(tmp_path / "quiet", Machine(busy=0))
    assert bound.sequential_us == quiet.bounds[0].sequential_us
    assert found.layers == quiet.layers


def test_what_stays_doubtful_is_named(tmp_path: Path) -> None:
    machine = Machine(busy=1_000_000)
    found = run(tmp_path, machine)
    (bound,) = found.bounds
    assert machine.measured == found.layers.unique
    assert bound.slowed.calls > 0
    assert bound.slowed.by == (OTHERS,)
    assert bound.slowed.layers
    machine = Machine(busy=10_000)
    run(tmp_path / "restless", machine)
    assert machine.asked == pipeline.ROUNDS
    assert machine.measured == (1 + pipeline.ROUNDS) * found.layers.unique


def test_all_layers_of_a_model_are_measured_anew_if_asked_for(tmp_path: Path) -> None:
    first = run(tmp_path, Machine(busy=1_000_000))
    assert run(tmp_path, Machine(busy=0)).bounds == first.bounds
    machine = Machine(busy=0)
    second = run(tmp_path, machine, again=True)
    assert machine.measured == second.layers.unique == second.layers.benchmarked
    assert second.layers.known == 0
    (before,), (bound,) = first.bounds, second.bounds
    assert bound.sequential_us is not None
    assert before.sequential_us == pytest.approx(3 * bound.sequential_us)
    assert bound.slowed.calls == 0
    machine = Machine(busy=0)
    run(tmp_path, machine, again=True)
    assert machine.measured == second.layers.unique


def test_of_another_precision_nothing_is_measured_anew(tmp_path: Path) -> None:
    machine = Machine(busy=0)
    request = RunRequest(models=(MODEL,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "open_runtime", lambda *_: nullcontext(machine))
        settings = settings_in(tmp_path)
        pipeline.run(request, settings, is_quiet=machine.is_quiet)
        unique = machine.measured
        half = RunRequest(
            models=(MODEL,), policy=request.policy._replace(precisions=("fp16",)), again=True
        )
        pipeline.run(half, settings, is_quiet=machine.is_quiet)
        measured = machine.measured  # with the product that tells whether this precision is there
        assert measured == 2 * unique + 1
        pipeline.run(request, settings, is_quiet=machine.is_quiet)
        assert machine.measured == measured
