"""What a process answers that a model has taken over costs that model, and does nothing else."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import msgspec
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.worker.frames import FrameError
from benanza_ingest.errors import ModelError
from benanza_ingest.isolation.answers import models, taken_apart
from benanza_ingest.isolation.isolated_ingest import IsolatedIngest
from benanza_ingest.limits import Limits
from benanza_ingest.published import ingest_published
from benanza_schemas.events import ModelPublished
from tests.ingest.isolation import hostile

LIMITS = Limits()
LONGEST_S = 1
"""For those who would never end; others have time enough on a busy machine."""


@pytest.fixture(scope="module")
def model() -> ModelPublished:
    (asked,) = asked_models("zoo:zfnet512", RunRequest(models=()), LIMITS)
    return asked.event


@pytest.fixture(scope="module")
def ingest() -> Iterator[IsolatedIngest]:
    with IsolatedIngest(module=hostile.__name__) as ingest:
        yield ingest


NO_ANSWER = r"was not ingested: answered what is no answer: .*, each of 2 times; .*"
LATE = f"was not ingested within {LONGEST_S} s; .*"

ANSWERS = {
    "closes": r"was not ingested: the process ended with status 0, each of 2 times; .*",
    "hangs": LATE,
    "closes and hangs": "was not ingested: the process stopped answering, each of 2 times; .*",
    "answers noise": NO_ANSWER,
    "answers a pickle": NO_ANSWER,
    "answers a bare pickle": NO_ANSWER,
    "announces too much": NO_ANSWER,
    "announces more than it has": "was not ingested: the process ended with status 0, .*",
    "answers without end": NO_ANSWER,
    "trickles": LATE,
    "answers a number": NO_ANSWER,
    "answers another question": NO_ANSWER,
    "refuses at length": NO_ANSWER,
    "nests deeply": NO_ANSWER,
    "sends a descriptor": NO_ANSWER,
}


@pytest.mark.integration
@pytest.mark.parametrize("name", ANSWERS)
def test_it_costs_the_model_that_did_it(
    ingest: IsolatedIngest,
    model: ModelPublished,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = open_files()
    file = tmp_path / "created"
    asked = msgspec.structs.replace(model, name=name, zoo=str(file))
    with monkeypatch.context() as patch:
        if ANSWERS[name] == LATE:
            patch.setattr(ingest, "_longest_s", LONGEST_S)
        with pytest.raises(ModelError) as caught:
            ingest(asked, LIMITS)
    assert re.fullmatch(f"{name} {ANSWERS[name]}", str(caught.value))
    assert not file.exists()
    assert ingest(model, LIMITS) == ingest_published(model, LIMITS)
    assert open_files() <= held
    if name == "sends a descriptor":
        assert file.with_name("created.dropped").exists()


def open_files() -> int:
    """How many pipes, sockets and the like this process has open, besides those of `ingest`, which
    is idle. A ClickHouse engine that another test keeps opens files of its own meanwhile.
    """
    links = (each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink())
    return sum(not link.is_absolute() for link in links)


@pytest.mark.integration
def test_what_it_says_is_one_line(ingest: IsolatedIngest, model: ModelPublished) -> None:
    with pytest.raises(ModelError, match="no model") as caught:
        ingest(msgspec.structs.replace(model, name="refuses in many lines"), LIMITS)
    assert len(str(caught.value)) < 2100
    assert str(caught.value).isprintable()


@pytest.mark.integration
def test_a_second_answer_is_nobodys(ingest: IsolatedIngest, model: ModelPublished) -> None:
    """Neither does the process live on that gave it."""
    children = {each for starter in psutil.Process().children() for each in starter.children()}
    twice = msgspec.structs.replace(model, name="answers twice")
    assert ingest(twice, LIMITS) == ingest_published(twice, LIMITS)
    assert ingest(model, LIMITS) == ingest_published(model, LIMITS)
    assert children
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


def answered(message: bytes, model: ModelPublished) -> None:
    """Lets ingest read this from a child that has ended."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(message)
        theirs.shutdown(socket.SHUT_WR)
        found = taken_apart(ours.fileno(), model, monotonic() + 10)
        assert list(models(found, model, LIMITS))


@given(message=st.binary(max_size=300))
def test_any_bytes_are_refused(message: bytes, model: ModelPublished) -> None:
    with pytest.raises((FrameError, EOFError, ModelError)):
        answered(message, model)
    with pytest.raises((FrameError, ModelError)):
        answered(len(message).to_bytes(4, "big") + message, model)
