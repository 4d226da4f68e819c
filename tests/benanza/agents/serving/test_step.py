"""What an agent does over an event log: each evaluation once, whoever else is there."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

import msgspec
import pytest

from benanza.agents.core import Agent, EvaluationOutcome, evaluated_on, taken
from benanza.agents.serving.step import MOST_LEFT, At, agent_step
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_ingest.limits import Limits
from benanza_runner.isolation.device_turn import DeviceTurn
from benanza_schemas.events import (
    AnyEvent,
    Constraints,
    EvaluationRequested,
    EvaluationTaken,
    ModelEvaluated,
)
from benanza_schemas.topics import EVALUATED
from tests.backbone.sample_events import NOON
from tests.benanza.agents.samples import GIGABYTE, agent, announced, requested, system
from tests.steps import clock

SYSTEM = system()
OTHER = system(version="1.30.0")
A, B, C = (agent(name, SYSTEM) for name in "abc")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteEventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        yield log


def append(log: SqliteEventLog, *events: AnyEvent) -> None:
    log.append([as_message(event) for event in events])


def results(log: SqliteEventLog) -> list[ModelEvaluated]:
    return list(events_of(log, EVALUATED, ModelEvaluated))


class Evaluator:
    """Says what it was given, and first does what is asked of it."""

    def __init__(self, *meanwhile: AnyEvent, log: SqliteEventLog | None = None) -> None:
        self.asked: list[str] = []
        self._meanwhile = meanwhile
        self._log = log

    def __call__(
        self, asked: EvaluationRequested, path: Path, limits: Limits, files: Sequence[int]
    ) -> EvaluationOutcome:
        self.asked.append(asked.event_id)
        assert path.read_bytes() == b""
        if self._log is not None:
            append(self._log, *self._meanwhile)
        return EvaluationOutcome({"p99_us": 5.0}, "{}")


def do_all(
    log: SqliteEventLog, of: Agent, evaluator: Evaluator, free_bytes: int = 8 * GIGABYTE
) -> None:
    at = At(nullcontext(), evaluate=evaluator)
    has = announced(of.name, SYSTEM, free_bytes=free_bytes)
    with agent_step(log, of, lambda: has, at, clock) as step:
        while step.turn(1):
            pass


def test_what_is_asked_of_a_system_is_done_once_and_what_is_not_is_left(
    log: SqliteEventLog,
) -> None:
    one, other = requested(SYSTEM, OTHER, number=1), requested(OTHER, number=2)
    append(log, one, one, other)
    evaluator = Evaluator()
    do_all(log, A, evaluator)
    assert evaluator.asked == [one.event_id]
    (result,) = results(log)
    assert (result.evaluation_id, result.agent) == (one.event_id, "a")
    assert (result.figures, result.system) == ({"p99_us": 5.0}, SYSTEM)
    (began,) = events_of(log, EVALUATED, EvaluationTaken)
    assert (began.agent_id, began.system_id) == (A.agent_id, SYSTEM.system_id)


def test_a_second_agent_does_what_the_first_died_at_and_a_third_gives_up(
    log: SqliteEventLog,
) -> None:
    append(log, requested(SYSTEM), taken(requested(SYSTEM), A, NOON))
    evaluator = Evaluator()
    do_all(log, B, evaluator)
    assert (len(evaluator.asked), results(log)[0].failure) == (1, "")
    again = requested(SYSTEM, number=2)
    append(log, again, taken(again, A, NOON), taken(again, B, NOON))
    do_all(log, C, evaluator)
    assert len(evaluator.asked) == 1
    assert results(log)[1].failure.startswith("a and b began with it and ended without a result")


def test_an_agent_that_counted_as_dead_writes_no_second_result(log: SqliteEventLog) -> None:
    asked = requested(SYSTEM)
    append(log, asked)
    by_another = evaluated_on(asked, B, EvaluationOutcome(), NOON)
    do_all(log, A, Evaluator(by_another, log=log))
    assert results(log) == [by_another]


def test_results_of_two_agents_have_one_id() -> None:
    one, other = (
        evaluated_on(requested(SYSTEM), each, EvaluationOutcome(failure=each.name), NOON)
        for each in (A, B)
    )
    assert one.event_id == other.event_id
    assert one != other


def test_memory_is_looked_at_again(log: SqliteEventLog) -> None:
    wants = Constraints(framework="onnxruntime", memory_bytes=4 * GIGABYTE)
    append(log, requested(SYSTEM, constraints=wants))
    evaluator = Evaluator()
    do_all(log, A, evaluator, free_bytes=GIGABYTE)
    assert not evaluator.asked
    assert results(log)[0].failure == "memory: 4.0 GB free is wanted, and it has 1.0 GB free"


def test_what_another_agent_has_the_memory_for_is_left_to_it(log: SqliteEventLog) -> None:
    """Its failure would stand for all agents of the system."""
    wants = Constraints(framework="onnxruntime", memory_bytes=4 * GIGABYTE)
    append(log, announced("b", SYSTEM, free_bytes=8 * GIGABYTE))
    append(log, requested(SYSTEM, constraints=wants))
    evaluator = Evaluator()
    with pytest.raises(BenanzaError, match="is left to b, which has the memory for it"):
        do_all(log, A, evaluator, free_bytes=GIGABYTE)
    assert results(log) == []
    do_all(log, B, evaluator)
    assert [(result.agent, result.failure) for result in results(log)] == [("b", "")]


def test_what_others_do_not_take_either_fails_in_the_end(log: SqliteEventLog) -> None:
    wants = Constraints(framework="onnxruntime", memory_bytes=4 * GIGABYTE)
    append(log, announced("b", SYSTEM, free_bytes=8 * GIGABYTE))
    append(log, requested(SYSTEM, constraints=wants))
    at = At(nullcontext(), evaluate=Evaluator())
    has = announced("a", SYSTEM, free_bytes=GIGABYTE)
    tries = 0
    while not results(log):
        tries += 1
        with suppress(BenanzaError), agent_step(log, A, lambda: has, at, clock) as step:
            step.turn(1)
    assert tries == MOST_LEFT + 1
    assert results(log)[0].failure.startswith("memory: ")


def test_the_system_of_another_framework_than_is_wanted_does_not_do_it(log: SqliteEventLog) -> None:
    """The agent has both, and did it in one as a result of the other."""
    pytorch = system("pytorch", "2.9.0")
    append(log, requested(pytorch, constraints=Constraints(framework="onnxruntime")))
    evaluator = Evaluator()
    has = announced("a", SYSTEM, pytorch)
    at = At(nullcontext(), evaluate=evaluator)
    with agent_step(log, agent("a", pytorch), lambda: has, at, clock) as step:
        step.turn(1)
    assert not evaluator.asked
    (result,) = results(log)
    assert result.system == pytorch
    assert result.failure == "framework: onnxruntime is wanted, and it has pytorch"


def test_a_model_that_cannot_be_had_is_a_failure(log: SqliteEventLog) -> None:
    asked = requested(SYSTEM)
    gone = msgspec.structs.replace(asked.published, content=None, uri="file:///nowhere.onnx")
    append(log, msgspec.structs.replace(asked, published=gone))
    do_all(log, A, Evaluator())
    assert "where the agent runs" in results(log)[0].failure


def test_a_machine_without_room_for_the_model_is_a_failure(
    log: SqliteEventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(log, requested(SYSTEM))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    do_all(log, A, Evaluator())
    failure = results(log)[0].failure
    assert failure.startswith("the agent's machine can't keep the model's file: [Errno 2]")
    assert failure.endswith("; mend that, and ask again")


def test_a_model_is_had_before_the_device(log: SqliteEventLog, tmp_path: Path) -> None:
    """Else one on a slow server would keep all others from the device for an hour."""
    asked = requested(SYSTEM)
    gone = msgspec.structs.replace(asked.published, content=None, uri="file:///nowhere.onnx")
    append(log, msgspec.structs.replace(asked, published=gone))
    own, others = (
        DeviceTurn(["cpu-0"], alone=True, wait_s=0.05, folder=tmp_path) for _ in range(2)
    )
    at = At(own, evaluate=Evaluator())
    with others, agent_step(log, A, lambda: announced("a", SYSTEM), at, clock) as step:
        step.turn(1)
    assert "where the agent runs" in results(log)[0].failure


def test_an_evaluation_waits_for_others_on_the_device(log: SqliteEventLog, tmp_path: Path) -> None:
    """After a while it is left to other agents, and nothing is committed."""
    append(log, requested(SYSTEM))
    evaluator = Evaluator()
    own, others = (
        DeviceTurn(["cpu-0"], alone=True, wait_s=0.05, folder=tmp_path) for _ in range(2)
    )
    at = At(own, own.files, evaluate=evaluator)
    with (
        others,
        agent_step(log, A, lambda: announced("a", SYSTEM), at, clock) as step,
        pytest.raises(BenanzaError, match="another program keeps cpu-0"),
    ):
        step.turn(1)
    assert not evaluator.asked
    do_all(log, A, evaluator)
    assert len(results(log)) == 1
