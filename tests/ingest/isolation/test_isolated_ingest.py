"""Ingest in a process of its own: what a model does to it is told, and costs no other model."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import psutil
import pytest
from pebble import ProcessPool

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.model_sources import parse_sources
from benanza_ingest import isolated_ingest
from benanza_ingest.confining import landlock
from benanza_ingest.confining.confine import Confinement
from benanza_ingest.errors import ModelError
from benanza_ingest.isolated_ingest import IsolatedIngest
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of, ingest_published
from benanza_ingest.reading.allowed import Allowed
from benanza_schemas.events import ModelPublished
from tests.ingest.misbehaving_ingest import break_out, misbehave, process_id
from tests.ingest.reading.model_server import model_server

pytestmark = pytest.mark.integration

LIMITS = Limits()


@pytest.fixture(scope="module")
def ingest() -> Iterator[IsolatedIngest]:
    with IsolatedIngest(longest_s=5, work=misbehave) as ingest:
        yield ingest


@pytest.fixture(scope="module")
def model() -> ModelPublished:
    (asked,) = asked_models("zoo:alexnet", RunRequest(models=()), LIMITS)
    return asked.event


def named(model: ModelPublished, name: str) -> ModelPublished:
    return msgspec.structs.replace(model, name=name)


def pid_of(ingest: IsolatedIngest, model: ModelPublished) -> int:
    """The process that does the work, which has to be `process_id`."""
    with pytest.raises(ValueError, match=r"^[0-9]+$") as caught:
        ingest(model, LIMITS)
    return int(str(caught.value))


def kill_idle(ingest: IsolatedIngest, pid: int) -> None:
    """Kills its process, and returns when the pool has noticed."""
    os.kill(pid, signal.SIGKILL)
    while ingest._worker._pool.active:
        time.sleep(0.01)


def test_it_says_what_ingest_says_in_this_process(
    ingest: IsolatedIngest, model: ModelPublished
) -> None:
    assert ingest(model, LIMITS) == ingest_published(model, LIMITS)


def test_a_model_that_is_none_is_told_as_ever(
    ingest: IsolatedIngest, model: ModelPublished, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=f"there is no file {tmp_path}/lost.onnx"):
        ingest(
            msgspec.structs.replace(model, content=None, uri=(tmp_path / "lost.onnx").as_uri()),
            LIMITS,
        )
    unreachable = msgspec.structs.replace(model, content=None, uri="http://127.0.0.1:9/m.onnx")
    with pytest.raises(ModelError, match="can't be fetched"):
        ingest(unreachable, LIMITS)


def test_a_model_that_crashes_its_process_is_named(
    ingest: IsolatedIngest, model: ModelPublished
) -> None:
    with pytest.raises(ModelError, match=r"crash ends the process .* status -11, each of 2 times"):
        ingest(named(model, "crash"), LIMITS)
    assert ingest(model, LIMITS)


def test_a_process_that_was_killed_once_is_no_fault_of_the_model(model: ModelPublished) -> None:
    with IsolatedIngest(work=misbehave) as ingest, ThreadPoolExecutor() as threads:
        (worker,) = ingest._worker._pool._pool_manager.worker_manager.workers.values()
        found = threads.submit(ingest, named(model, "slow"), LIMITS)
        time.sleep(1)
        assert worker.pid
        os.kill(worker.pid, signal.SIGKILL)
        assert found.result()


@pytest.mark.parametrize("name", ["hang", "hang in native code"])
def test_a_model_that_hangs_is_given_up(model: ModelPublished, name: str) -> None:
    began = time.monotonic()
    with IsolatedIngest(longest_s=1, work=misbehave) as ingest:
        with pytest.raises(ModelError, match="was not ingested within 1 s"):
            ingest(named(model, name), LIMITS)
        assert ingest(model, LIMITS)
    assert time.monotonic() - began < 30


def test_a_model_that_takes_too_much_memory_is_given_up(
    ingest: IsolatedIngest, model: ModelPublished
) -> None:
    with pytest.raises(ModelError, match=r"takes more than 4,294,967,296 bytes of memory"):
        ingest(named(model, "take all memory"), LIMITS)
    assert ingest(model, LIMITS)


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_what_takes_the_process_over_gets_nowhere(model: ModelPublished, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    tmp_path.chmod(0o777)
    with IsolatedIngest(work=break_out) as ingest:
        assert ingest.confinement == Confinement(files=True, calls=True)
        with pytest.raises(ValueError, match="read: ") as caught:
            ingest(named(model, str(tmp_path)), LIMITS)
    said = str(caught.value)
    if landlock.version() < 6:
        said = said.replace("signal: DONE", "")  # Older kernels let it pass.
    assert "DONE" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_what_is_not_in_force_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Confinement(files=False, calls=False)
    monkeypatch.setattr(isolated_ingest._Worker, "confinement", nothing, raising=False)
    monkeypatch.setattr(isolated_ingest._Worker, "_renew", lambda worker: None)
    IsolatedIngest()
    (record,) = caplog.records
    assert record.message == (
        "models are ingested by a process that keeps write access (the kernel has no Landlock) and "
        "network (no seccomp filter can be set)"
    )


def test_a_model_is_fetched_by_a_process_that_has_the_network(model: ModelPublished) -> None:
    with model_server({"/m.onnx": content_of(model, LIMITS)}) as (address, paths):
        away = msgspec.structs.replace(model, content=None, uri=f"{address}/m.onnx")
        allowed = Allowed(parse_sources(address))
        with IsolatedIngest(allowed) as ingest:
            assert ingest(away, LIMITS) == ingest_published(model, LIMITS)
        with (
            IsolatedIngest(Allowed(())) as ingest,
            pytest.raises(ModelError, match=f"may not fetch from {address}"),
        ):
            ingest(away, LIMITS)
        assert len(paths) == 1


def test_the_process_is_kept_for_the_next_model(model: ModelPublished) -> None:
    with IsolatedIngest(work=process_id) as ingest:
        (pid,) = {pid_of(ingest, model) for _ in range(3)}
    assert not psutil.pid_exists(pid)


def test_a_process_that_was_killed_while_idle_is_no_fault_of_the_next_model(
    model: ModelPublished,
) -> None:
    with IsolatedIngest(work=process_id) as ingest:
        former = pid_of(ingest, model)
        kill_idle(ingest, former)
        assert pid_of(ingest, model) != former


def test_a_process_that_can_not_be_had_is_tried_again_with_the_next_model(
    model: ModelPublished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(**_: object) -> ProcessPool:
        raise OSError("the system has no room for a process")

    with IsolatedIngest(work=process_id) as ingest:
        kill_idle(ingest, pid_of(ingest, model))
        with monkeypatch.context() as patch:
            patch.setattr(isolated_ingest, "ProcessPool", refused)
            with pytest.raises(OSError, match="no room"):
                ingest(model, LIMITS)
        assert pid_of(ingest, model)


def test_the_process_ends_with_the_one_that_started_it() -> None:
    code = (
        "from benanza_ingest.isolated_ingest import *; i = IsolatedIngest(); "
        "print('up', flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
    assert children
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
