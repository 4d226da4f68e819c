"""Services by their consumer groups."""

import pytest

from benanza_schemas.consumer_groups import (
    CONSUMER_GROUPS,
    ConsumerGroup,
    agent_group,
    runner_group,
    service_of,
)


@pytest.mark.parametrize("service", CONSUMER_GROUPS)
def test_a_group_is_that_of_its_service(service: str) -> None:
    assert service_of(CONSUMER_GROUPS[service].name) == service


def test_agents_have_a_group_for_each_system() -> None:
    assert agent_group("0123") == ConsumerGroup("agent.0123", ("evaluations",))
    assert service_of("agent.0123") == "agent"


def test_runners_have_a_group_for_each_system_and_others_are_called_what_they_are() -> None:
    assert runner_group("0123", "fp32") == ConsumerGroup("runner.0123.fp32", ("jobs",))
    assert service_of("runner.0123.fp32") == "runner"
    assert service_of("somebody-else") == "somebody-else"
