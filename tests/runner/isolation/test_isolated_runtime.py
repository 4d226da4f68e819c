"""Layers that crash, hang and take all memory cost themselves a measurement and nothing else."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from benanza_backbone.errors import BenanzaError
from benanza_runner.isolation.isolated_runtime import (
    MOST_SLOW,
    TRIED_EVERY,
    IsolatedRuntime,
    RuntimeStartError,
    WorkerLimits,
)
from benanza_runner.runtime import Outcome, Runtime
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Choice, Program, ProgramStep
from tests.runner.fake_runtime import FakeRuntime, variant
from tests.runner.layers import floats, relu, single
from tests.runner.runtime_contract import RuntimeContract

pytestmark = pytest.mark.integration

HERE = "tests.runner.fake_runtime"
LIMITS = WorkerLimits(start_seconds=30, layer_seconds=1.0, ceilings_seconds=5.0, tries=2)


def layer(op_type: str) -> Layer:
    return single(op_type, 1, (floats(2),), (floats(2),), domain="tests")


PROGRAM = Program(
    (ProgramStep((0,), "compute", "f" * 32, relu(2), ("x", "y"), Choice("fake", "fake", "")),),
    ("y",),
)


@pytest.fixture(scope="module")
def isolated() -> Iterator[IsolatedRuntime]:
    with IsolatedRuntime(f"{HERE}:MisbehavingRuntime", {"threads": 3}, LIMITS) as runtime:
        yield runtime


class TestIsolatedRuntime(RuntimeContract):
    runs_every_model = True

    @pytest.fixture
    def runtime(self, isolated: IsolatedRuntime) -> Runtime:
        return isolated

    @pytest.fixture
    def unmeasurable(self) -> tuple[Layer, Precision]:
        return relu(2), "bf16"


def worker_of(outcome: Outcome) -> int:
    return int(outcome.environment["process"])


def still_works(runtime: IsolatedRuntime) -> int:
    """Measures a layer that behaves; returns the worker's process id."""
    outcome = runtime.measure(relu(2), "fp32")
    assert outcome.variants == (variant(1.0),)
    assert outcome.environment["attempts"] == "1"
    return worker_of(outcome)


def test_it_is_the_same_runtime_in_another_process(isolated: IsolatedRuntime) -> None:
    assert isolated.system() == FakeRuntime(threads=3).system()
    assert isolated.measure(relu(2), "bf16").failure == "paper has no bf16"
    assert isolated.ceilings("fp32") == FakeRuntime().ceilings("fp32")
    assert isolated.cache_bytes() == FakeRuntime().cache_bytes()
    assert isolated.witness(PROGRAM, "fp32") == FakeRuntime().witness(PROGRAM, "fp32")
    assert still_works(isolated) != os.getpid()


def test_it_counts_gpus_as_the_driver_does() -> None:
    with IsolatedRuntime(f"{HERE}:OrderedRuntime") as runtime:
        assert runtime.system().accelerator == "PCI_BUS_ID"


def test_the_worker_knows_no_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENANZA_CLICKHOUSE", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    with IsolatedRuntime(f"{HERE}:FakeRuntime") as runtime:
        environment = psutil.Process(still_works(runtime)).environ()
    assert "secret" not in environment.values()
    assert environment["CUDA_VISIBLE_DEVICES"] == "1"


def test_no_client_of_a_log_or_a_store_is_imported() -> None:
    """A runner on a bare GPU machine has none."""
    code = (
        "import sys, benanza_runner.isolation.worker, benanza_runner.isolation.worker_pool; "
        "print(*sys.modules)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    clients = {"kafka", "clickhouse_connect", "chdb", "faust", "filelock", "prometheus_client"}
    assert clients & set(found) == set()


def test_one_worker_measures_many_layers(isolated: IsolatedRuntime) -> None:
    assert still_works(isolated) == still_works(isolated)


@pytest.mark.parametrize(
    ("op_type", "reason"),
    [
        ("Crash", "the process was ended by SIGSEGV: went wrong in native code"),
        ("Abort", "the process was ended by SIGABRT"),
        ("Kill", "the process was ended by SIGKILL, as the system does when memory runs out"),
        ("Exit", "the process ended with status 7"),
        ("Hang", "took longer than 1 seconds"),
    ],
)
def test_what_ends_the_worker_is_a_stored_failure(
    isolated: IsolatedRuntime, op_type: str, reason: str
) -> None:
    before = still_works(isolated)
    outcome = isolated.measure(layer(op_type), "fp32")
    assert outcome == Outcome(
        failure=f"gave no result in 2 tries: {reason}", environment={"attempts": "2"}
    )
    assert still_works(isolated) != before
    assert not psutil.pid_exists(before)


@pytest.mark.parametrize(
    ("op_type", "reason"),
    [
        ("Exhaust", "there is not enough memory"),
        ("Raise", "RuntimeError: first line second line"),
    ],
)
def test_what_leaves_the_worker_alive_is_not_tried_again(
    isolated: IsolatedRuntime, op_type: str, reason: str
) -> None:
    before = still_works(isolated)
    assert isolated.measure(layer(op_type), "fp32").failure == reason
    assert still_works(isolated) == before


def test_a_second_try_may_succeed(isolated: IsolatedRuntime, tmp_path: Path) -> None:
    once = single(
        "HangOnce", 1, (floats(2),), (floats(2),), domain="tests", path=str(tmp_path / "tried")
    )
    outcome = isolated.measure(once, "fp32")
    assert outcome.variants == (variant(1.0),)
    assert outcome.environment["attempts"] == "2"


def test_a_worker_in_which_everything_takes_longer_is_replaced() -> None:
    with IsolatedRuntime(f"{HERE}:TiringRuntime", {"lasts": 2}, LIMITS) as runtime:
        outcomes = [runtime.measure(layer("Relu"), "fp32") for _ in range(3)]
        assert not runtime.witness(PROGRAM, "fp32").slowed
        assert not runtime.witness(PROGRAM, "fp32").slowed
    first, second, third = (outcome.environment["process"] for outcome in outcomes)
    assert first == second != third
    assert not any(outcome.slowed for outcome in outcomes)


def test_workers_that_are_no_faster_are_tried_now_and_then() -> None:
    with IsolatedRuntime(f"{HERE}:TiringRuntime", {"lasts": 0}, LIMITS) as runtime:
        outcomes = [runtime.measure(layer("Relu"), "fp32") for _ in range(TRIED_EVERY + 2)]
    assert all(outcome.slowed for outcome in outcomes)
    processes = [outcome.environment["process"] for outcome in outcomes]
    assert len(set(processes[:MOST_SLOW])) == MOST_SLOW
    assert len(set(processes[MOST_SLOW - 1 : TRIED_EVERY])) == 1
    assert processes[TRIED_EVERY] not in processes[:TRIED_EVERY]
    assert processes[TRIED_EVERY + 1] == processes[TRIED_EVERY]


def test_a_slow_answer_is_better_than_none(tmp_path: Path) -> None:
    path = str(tmp_path / "started")
    with IsolatedRuntime(f"{HERE}:SlowOnceRuntime", {"path": path}, LIMITS) as runtime:
        outcome = runtime.measure(layer("Relu"), "fp32")
    assert outcome.slowed
    assert outcome.variants == (variant(1.0),)


def test_what_libraries_print_stays_off_the_terminal(
    isolated: IsolatedRuntime, capfd: pytest.CaptureFixture[str]
) -> None:
    assert isolated.measure(layer("Print"), "fp32").variants
    assert isolated.measure(layer("Crash"), "fp32").failure
    assert capfd.readouterr() == ("", "")


def test_a_layer_larger_than_memory_is_refused_beforehand() -> None:
    with IsolatedRuntime(f"{HERE}:FakeRuntime", memory_bytes=1_000_000_000) as runtime:
        reason = "needs about 8.6 GB of memory, and a benchmark may take 1.0 GB on this machine"
        huge = relu(1_000_000_000)
        assert runtime.measure(huge, "fp32") == Outcome(failure=reason)
        assert runtime.measure(relu(1_000_000), "fp32").failure == ""


def test_the_worker_may_take_no_more_memory_than_that() -> None:
    with IsolatedRuntime(f"{HERE}:MisbehavingRuntime", memory_bytes=700_000_000) as runtime:
        assert runtime.measure(layer("Exhaust"), "fp32").failure == "there is not enough memory"


def test_a_whole_model_that_crashes_or_hangs_fails_and_says_so() -> None:
    limits = LIMITS._replace(witness_seconds=1.0)
    with IsolatedRuntime(f"{HERE}:MisbehavingRuntime", None, limits) as runtime:
        assert "SIGABRT" in runtime.witness(PROGRAM, "tf32").failure
        assert "longer than 1 seconds" in runtime.witness(PROGRAM, "fp16").failure
        assert runtime.witness(PROGRAM, "fp32").failure == ""


def test_ceilings_that_can_not_be_measured() -> None:
    with IsolatedRuntime(f"{HERE}:MisbehavingRuntime", limits=LIMITS) as runtime:
        with pytest.raises(RuntimeStartError, match=r"ceilings can't be measured: .* SIGABRT"):
            runtime.ceilings("tf32")
        assert runtime.ceilings("fp32")


@pytest.mark.parametrize(
    ("runtime", "reason"),
    [
        (f"{HERE}:UnusableRuntime", "OSError: its library isn't there"),
        (f"{HERE}:NoRuntime", f"TypeError: {HERE}:NoRuntime is no Runtime"),
        (f"{HERE}:Missing", "AttributeError: .* has no attribute 'Missing'"),
        ("tests.runner.missing:Missing", "ModuleNotFoundError: No module named"),
    ],
)
def test_a_runtime_that_can_not_be_made(runtime: str, reason: str) -> None:
    with (
        IsolatedRuntime(runtime, limits=LIMITS) as isolated,
        pytest.raises(BenanzaError, match=f"^{runtime}: {reason}"),
    ):
        isolated.system()


def test_closing_ends_the_worker() -> None:
    with IsolatedRuntime(f"{HERE}:FakeRuntime") as runtime:
        worker = still_works(runtime)
        assert psutil.pid_exists(worker)
    assert not psutil.pid_exists(worker)
    runtime.close()


@pytest.mark.parametrize("op_type", ["Relu", "Hang"])
def test_the_worker_dies_with_the_runner(op_type: str) -> None:
    """However the runner ends: here by SIGKILL, while the worker is idle, and while it hangs."""
    program = textwrap.dedent(f"""
        from tests.runner.isolation.test_isolated_runtime import IsolatedRuntime, layer, relu
        runtime = IsolatedRuntime("{HERE}:MisbehavingRuntime")
        print(runtime.measure(relu(2), "fp32").environment["process"], flush=True)
        runtime.measure(layer("{op_type}"), "fp32")
        input()
    """)
    runner = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert runner.stdout is not None
    worker = psutil.Process(int(runner.stdout.readline()))
    time.sleep(0.2)
    assert worker.is_running()
    runner.send_signal(signal.SIGKILL)
    runner.communicate()
    _, alive = psutil.wait_procs([worker], timeout=5)
    assert not alive
