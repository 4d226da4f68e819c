"""What is said of a process that gave no answer."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benanza.agents.serving import isolated
from benanza.agents.serving.isolated import described_apart, evaluate_apart
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits
from tests.benanza.agents.samples import requested, system
from tests.benanza.agents.serving.ending import HOW

ENDING = "tests.benanza.agents.serving.ending"


@pytest.mark.parametrize(
    ("how", "seconds", "said"),
    [
        ("killed", 60.0, "was ended by SIGKILL, as the system does when memory runs out"),
        ("ends", 60.0, "ended with status 1: last words"),
        ("noise", 60.0, "answered what is no answer: MessagePack data is malformed"),
        ("sleeps", 0.1, "took longer than 0.1 seconds"),
    ],
)
def test_how_it_ended_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, how: str, seconds: float, said: str
) -> None:
    """It said that the evaluation the process was ended."""
    monkeypatch.setenv(HOW, how)
    monkeypatch.setattr(isolated, "LONGEST_TURN_S", seconds)
    outcome = evaluate_apart(requested(system()), Path(), Limits(), (), ENDING)
    assert outcome.failure.startswith(f"the evaluation's process {said}")


def test_frameworks_that_take_too_long_to_describe_are_no_evaluation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolated, "DESCRIBE_S", 0.01)
    with pytest.raises(BenanzaError) as error:
        described_apart(())
    assert str(error.value) == (
        "the frameworks here can't be described: the process took longer than 0.01 seconds"
    )


@contextmanager
def no_more_files() -> Iterator[None]:
    """This process can open nothing more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_process_that_cannot_be_started_is_said_to_be_that() -> None:
    """It said that the folder for temporary files may lack room."""
    with no_more_files():
        outcome = evaluate_apart(requested(system()), Path(), Limits(), ())
    assert outcome.failure == (
        "the evaluation's process can't be started: Too many open files; end other programs on "
        "the agent's machine, or raise its limits"
    )
    with no_more_files(), pytest.raises(BenanzaError, match="the process can't be started: Too"):
        described_apart(())
