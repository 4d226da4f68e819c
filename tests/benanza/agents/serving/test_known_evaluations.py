"""What an agent knows of the evaluations of its system."""

from benanza.agents.core import EvaluationOutcome, evaluated_on, taken
from benanza.agents.serving.known_evaluations import KnownEvaluations
from benanza_schemas.topics import EVALUATED
from tests.backbone.sample_events import NOON
from tests.benanza.agents.samples import agent, requested, system
from tests.growing_log import GrowingTopic

SYSTEM = system()
A, B = (agent(name, SYSTEM) for name in "ab")


def test_a_partition_that_is_added_later_is_read_from_its_start() -> None:
    """It ended the agent with a KeyError."""
    first, second = (requested(SYSTEM, number=number) for number in (1, 2))
    topic = GrowingTopic(EVALUATED)
    topic.grow(taken(first, A, NOON))
    known = KnownEvaluations(topic.log(), SYSTEM.system_id)
    known.catch_up()
    topic.grow(evaluated_on(first, A, EvaluationOutcome(), NOON), taken(second, B, NOON))
    known.catch_up()
    assert known.has_done(first.event_id)
    assert list(known.takers(second.event_id).values()) == ["b"]
