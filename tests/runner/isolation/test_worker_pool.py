"""A pool measures what is expected side by side, and gives each answer to who asked for it."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.isolation.worker_pool import WorkerPool
from benanza_runner.runtime import Runtime
from benanza_schemas.layer import Layer, Precision
from tests.runner.layers import floats, relu, single
from tests.runner.runtime_contract import RuntimeContract

pytestmark = pytest.mark.integration

HERE = "tests.runner.fake_runtime"
LIMITS = WorkerLimits(start_seconds=30, layer_seconds=20.0, ceilings_seconds=5.0, tries=2)
WORKERS = 3


def made(number: int) -> IsolatedRuntime:
    return IsolatedRuntime(f"{HERE}:MisbehavingRuntime", {"threads": 3}, LIMITS)


@pytest.fixture(scope="module")
def shared() -> Iterator[WorkerPool]:
    with WorkerPool(made, WORKERS) as pool:
        yield pool


class TestWorkerPool(RuntimeContract):
    runs_every_model = True

    @pytest.fixture
    def runtime(self, shared: WorkerPool) -> Runtime:
        return shared

    @pytest.fixture
    def unmeasurable(self) -> tuple[Layer, Precision]:
        return relu(2), "bf16"


def meeting(folder: Path, parties: int) -> WorkerPool:
    """One whose workers measure nothing until so many layers were begun."""
    arguments: dict[str, str | int | bool] = {"folder": str(folder), "parties": parties}
    return WorkerPool(
        lambda _: IsolatedRuntime(f"{HERE}:MeetingRuntime", arguments, LIMITS), WORKERS
    )


def test_what_is_expected_is_measured_side_by_side(tmp_path: Path) -> None:
    layers = [relu(size) for size in range(2, 2 + WORKERS)]
    with meeting(tmp_path, WORKERS) as pool:
        pool.expect((layer, "fp32") for layer in layers)
        outcomes = [pool.measure(layer, "fp32") for layer in layers]
    assert len({outcome.environment["process"] for outcome in outcomes}) == WORKERS


def test_what_is_expected_is_measured_once_and_again_when_it_is_asked_again(tmp_path: Path) -> None:
    with meeting(tmp_path, 1) as pool:
        for _ in range(2):
            pool.expect([(relu(2), "fp32")])
        pool.measure(relu(2), "fp32")
        assert len(list(tmp_path.iterdir())) == 1
        pool.measure(relu(2), "fp32")
        assert len(list(tmp_path.iterdir())) == 2


def test_precisions_of_a_layer_are_apart(shared: WorkerPool) -> None:
    shared.expect([(relu(2), "bf16"), (relu(2), "fp32")])
    assert shared.measure(relu(2), "fp32").variants
    assert shared.measure(relu(2), "bf16").failure == "paper has no bf16"


def test_a_layer_that_ends_its_worker_costs_itself_only(shared: WorkerPool) -> None:
    crashing = single("Crash", 1, (floats(2),), (floats(2),), domain="tests")
    shared.expect([(crashing, "fp32"), *((relu(size), "fp32") for size in range(20, 26))])
    assert "in 2 tries" in shared.measure(crashing, "fp32").failure
    assert all(shared.measure(relu(size), "fp32").variants for size in range(20, 26))


def test_closing_ends_all_workers_at_once_and_who_waits_hears_of_it() -> None:
    pool = WorkerPool(made, 2)
    hanging = single("Hang", 1, (floats(2),), (floats(2),), domain="tests")
    pool.expect([(hanging, "fp32")])
    raised: list[Exception] = []

    def wait() -> None:
        try:
            pool.measure(hanging, "fp32")
        except BenanzaError as error:
            raised.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    pool.measure(relu(2), "fp32")  # By the other worker, so that the first has begun.
    started = time.monotonic()
    pool.close()
    waiting.join(LIMITS.layer_seconds)
    assert time.monotonic() - started < LIMITS.layer_seconds
    assert [str(error) for error in raised] == [f"{HERE}:MisbehavingRuntime was stopped"]


def test_a_worker_that_is_stopped_while_it_starts_says_so(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    runtime = IsolatedRuntime(f"{HERE}:EndlesslyStartingRuntime", {"begun": str(begun)}, LIMITS)
    raised: list[str] = []

    def start() -> None:
        try:
            runtime.system()
        except BenanzaError as error:
            raised.append(str(error))

    starting = threading.Thread(target=start)
    starting.start()
    deadline = time.monotonic() + LIMITS.start_seconds
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    runtime.stop()
    starting.join(10)
    runtime.close()
    assert raised == [f"{HERE}:EndlesslyStartingRuntime was stopped"]


def test_a_runtime_that_can_not_be_made_says_so() -> None:
    def unusable(number: int) -> IsolatedRuntime:
        return IsolatedRuntime(f"{HERE}:UnusableRuntime", limits=LIMITS)

    with (
        WorkerPool(unusable, 2) as pool,
        pytest.raises(BenanzaError, match="its library isn't there"),
    ):
        pool.system()
