"""How far evaluations are, and who is there."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from benanza.agents.core import EvaluationOutcome, evaluated_on, taken
from benanza.agents.known_agents import REMEMBERED, at_work, known_agents
from benanza.agents.progress import _Events, _requested, agents, evaluations, wait
from benanza.agents.results import EvaluationOnSystem
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import AnyEvent
from tests.benanza.agents.samples import agent, announced, at, requested, system

SYSTEM = system()
ASKED = requested(SYSTEM)
A, B = agent("a", SYSTEM), agent("b", SYSTEM)
LATER = timedelta(seconds=31)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteEventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        yield log


def append(log: SqliteEventLog, *events: AnyEvent) -> None:
    log.append([as_message(event) for event in events])


def on_system(log: SqliteEventLog, after: timedelta = timedelta(0)) -> EvaluationOnSystem:
    (found,) = evaluations(log, ASKED.event_id[:8], clock=at(now() + after)).evaluations
    (on,) = found.systems
    return on


def test_an_agent_is_there_until_it_leaves_or_is_silent(log: SqliteEventLog) -> None:
    append(log, announced("b", SYSTEM), announced("a", SYSTEM), announced("b", SYSTEM))
    assert [(each.agent, each.gone) for each in agents(log).agents] == [("a", False), ("b", False)]
    assert [each.gone for each in agents(log, at(now() + LATER)).agents] == [True, True]
    append(log, msgspec.structs.replace(announced("b", SYSTEM), leaving=True))
    assert [each.name for each in at_work(known_agents(log, now()), now())] == ["a"]
    assert agents(log).agents[0].frameworks == {"onnxruntime": "1.31.1"}


def test_those_of_long_ago_are_forgotten_and_the_rest_is_read_from_behind(
    log: SqliteEventLog,
) -> None:
    append(log, *[announced(str(number), SYSTEM) for number in range(2_500)])
    assert len(known_agents(log, now())) == 2_500
    assert len(known_agents(log, now() + 2 * REMEMBERED)) <= 1_000


def test_an_evaluation_waits_runs_is_taken_over_and_done(log: SqliteEventLog) -> None:
    append(log, ASKED)
    assert (on_system(log).state, on_system(log).taken_over) == ("orphaned", False)
    assert "no agent of its system has been there for an hour" in on_system(log).why
    append(log, announced("a", SYSTEM), announced("b", SYSTEM))
    assert (on_system(log).state, on_system(log).why) == ("waiting", "waits for a, b")
    append(log, taken(ASKED, A, now()))
    assert (on_system(log).state, on_system(log).agent) == ("running", "a")
    append(log, msgspec.structs.replace(announced("a", SYSTEM), leaving=True))
    assert (on_system(log).state, on_system(log).why) == ("waiting", "a ended at it; waits for b")
    gone = on_system(log, LATER)
    assert gone.state == "orphaned"
    assert "no agent of its system is there: " in gone.why
    append(log, taken(ASKED, B, now()))
    assert (on_system(log).state, on_system(log).taken_over) == ("running", True)
    append(log, evaluated_on(ASKED, B, EvaluationOutcome({"p99_us": 5.0}), now()))
    done = on_system(log)
    assert (done.state, done.agent, done.figures) == ("done", "b", {"p99_us": 5.0})


def test_of_two_results_the_first_counts(log: SqliteEventLog) -> None:
    append(log, ASKED, *(evaluated_on(ASKED, each, EvaluationOutcome(), now()) for each in (B, A)))
    assert on_system(log).agent == "b"


def test_waiting_ends_with_the_last_result_or_the_time(log: SqliteEventLog) -> None:
    append(log, ASKED)
    seen: list[bool] = []
    over = wait(log, ASKED.event_id, lambda each: seen.append(each.is_over), timeout_s=0.0)
    assert (over.is_over, seen) == (False, [False])
    append(log, evaluated_on(ASKED, A, EvaluationOutcome(failure="why"), now()))
    over = wait(log, ASKED.event_id, lambda each: seen.append(each.is_over))
    assert (over.is_over, over.systems[0].state, over.systems[0].why) == (True, "failed", "why")


def test_what_stands_twice_in_the_log_is_one_evaluation_without_its_model(
    log: SqliteEventLog,
) -> None:
    model = msgspec.structs.replace(ASKED.published, content=b"large")
    append(log, *[msgspec.structs.replace(ASKED, published=model)] * 2)
    assert wait(log, ASKED.event_id, bool, timeout_s=0.0).evaluation_id == ASKED.event_id
    assert len(evaluations(log).evaluations) == 1
    assert [each.published.content for each in _requested(log).values()] == [None]


def test_of_several_that_begin_alike_none_is_waited_for(log: SqliteEventLog) -> None:
    ids = [letter + ASKED.event_id[1:] for letter in "ab"]
    append(log, *(msgspec.structs.replace(ASKED, event_id="0" + id_[:-1]) for id_ in ids))
    with pytest.raises(BenanzaError, match=r"several evaluations begin with 0: .*; give more"):
        wait(log, "0", bool, timeout_s=0.0)


def test_waiting_reads_no_other_evaluations_results(log: SqliteEventLog) -> None:
    other = requested(SYSTEM, number=2)
    append(log, ASKED, other, evaluated_on(other, A, EvaluationOutcome(), now()))
    over = wait(log, ASKED.event_id, bool, timeout_s=0.0)
    assert not over.is_over
    assert not _Events(log, now(), {ASKED.event_id.encode()}).results
    append(log, evaluated_on(ASKED, A, EvaluationOutcome(), now()))
    assert wait(log, ASKED.event_id, bool).is_over


def test_one_that_was_not_asked_for_is_an_error(log: SqliteEventLog) -> None:
    with pytest.raises(BenanzaError, match="no evaluation 12 was asked for"):
        evaluations(log, "12")
    assert evaluations(log).evaluations == ()
