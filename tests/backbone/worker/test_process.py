"""A worker is asked and answers, or it is told how it ended."""

import os
import time
from collections.abc import Iterator

import msgspec
import pytest

from benanza_backbone.worker.process import LateWorkerError, WorkerError, WorkerProcess
from tests.backbone.worker import echo

pytestmark = pytest.mark.integration

numbers: msgspec.msgpack.Decoder[int] = msgspec.msgpack.Decoder(int)


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    with WorkerProcess(echo.__name__, {"TOLD": "x"}) as worker:
        yield worker


def ask(worker: WorkerProcess, request: str, seconds: float = 30) -> int:
    return worker.ask(request.encode(), numbers, seconds, 10)


def test_it_answers_one_question_after_the_other(worker: WorkerProcess) -> None:
    assert [ask(worker, f"say {number}") for number in range(3)] == [0, 1, 2]


def test_it_knows_nothing_of_the_environment_but_what_it_is_told(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [ask(worker, f"environment {name}") for name in ("TOLD", "HOME")] == [1, 0]


@pytest.mark.parametrize(
    ("request_", "error", "words"),
    [
        ("exit 3", "the process ended with status 3", ""),
        ("exit 3 last \x1b[0m words", "the process ended with status 3", r"last \x1b[0m words"),
        ("write 0 0 0 11", "answered what is no answer: a message of 11 bytes, more than 10", ""),
        ("write 0 0 0 1 192", "answered what is no answer: Expected `int`, got `None`", ""),
        ("write 0 0 0 1 217", "answered what is no answer: Input data was truncated", ""),
        ("write 0 0 0 0", "answered what is no answer: Input data was truncated", ""),
    ],
)
def test_what_is_no_answer_ends_it(
    worker: WorkerProcess, request_: str, error: str, words: str
) -> None:
    with pytest.raises(WorkerError) as caught:
        ask(worker, request_)
    assert (str(caught.value), caught.value.words) == (error, words)
    assert not worker.is_alive()


def test_it_may_be_late(worker: WorkerProcess) -> None:
    with pytest.raises(LateWorkerError, match=r"^took longer than 0.2 seconds$"):
        ask(worker, "sleep", 0.2)
    assert not worker.is_alive()


def test_who_speaks_before_it_is_asked_is_not_asked_again(worker: WorkerProcess) -> None:
    """Else each answer would be that to the question before."""
    assert ask(worker, "say 1 2") == 1
    time.sleep(0.2)
    with pytest.raises(WorkerError, match="answered what is no answer"):
        ask(worker, "say 3")
    assert not worker.is_alive()


def test_who_ended_since_it_was_asked_is_told_as_such(worker: WorkerProcess) -> None:
    assert ask(worker, "say 1") == 1
    os.kill(worker._process.pid, 9)
    worker._process.wait()
    with pytest.raises(WorkerError, match="was ended by SIGKILL, as the system does when memory"):
        ask(worker, "say 3")
