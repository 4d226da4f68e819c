"""Ingest in a process of its own: what a model does to it is told, and costs no other model."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from benanza.ingesting import IsolatedIngest, ingest_published
from benanza.publication import publications_of
from benanza.request import RunRequest
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelPublished
from tests.benanza.misbehaving_ingest import misbehave, process_id

LIMITS = Limits()


@pytest.fixture(scope="module")
def ingest() -> Iterator[IsolatedIngest]:
    with IsolatedIngest(longest_s=5, work=misbehave) as ingest:
        yield ingest


@pytest.fixture(scope="module")
def model() -> ModelPublished:
    (publication,) = publications_of("zoo:alexnet", RunRequest(models=()), LIMITS)
    return publication.event


def named(model: ModelPublished, name: str) -> ModelPublished:
    return msgspec.structs.replace(model, name=name)


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


def test_a_process_that_was_killed_once_is_no_fault_of_the_model(
    ingest: IsolatedIngest, model: ModelPublished, tmp_path: Path
) -> None:
    killed = msgspec.structs.replace(model, name="killed once", uri=str(tmp_path / "tried"))
    assert ingest(killed, LIMITS)
    assert (tmp_path / "tried").exists()


@pytest.mark.parametrize("name", ["hang", "hang in native code"])
def test_a_model_that_hangs_is_given_up(model: ModelPublished, name: str) -> None:
    began = time.monotonic()
    with IsolatedIngest(longest_s=1, work=misbehave) as ingest:
        with pytest.raises(ModelError, match="was not ingested within 1 s"):
            ingest(named(model, name), LIMITS)
        assert ingest(model, LIMITS)
    assert time.monotonic() - began < 30


def test_the_process_is_kept_for_the_next_model(model: ModelPublished) -> None:
    with IsolatedIngest(work=process_id) as ingest:
        pids = set()
        for _ in range(3):
            with pytest.raises(ValueError, match=r"^[0-9]+$") as caught:
                ingest(model, LIMITS)
            pids.add(int(str(caught.value)))
    (pid,) = pids
    assert not psutil.pid_exists(pid)


def test_the_process_ends_with_the_one_that_started_it() -> None:
    code = "from benanza.ingesting import *; i = IsolatedIngest(); print('up', flush=True); input()"
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
