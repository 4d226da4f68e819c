"""An agent as a service over Kafka."""

from collections.abc import Iterator
from contextlib import contextmanager

from benanza.agents.core import Agent
from benanza.agents.known_agents import INTERVAL_S
from benanza.agents.serving.announcer import Announcer, announcement
from benanza.agents.serving.isolated import Evaluate, evaluate_apart
from benanza.agents.serving.step import At, agent_step
from benanza.agents.serving.this_machine import AgentHas
from benanza_backbone.clock import now
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.process import Service, Started
from benanza_backbone.service.step import Step
from benanza_backbone.service.step_loop import StepLoop
from benanza_backbone.settings import Settings, kafka_of
from benanza_ingest.limits import limits_of
from benanza_ingest.reading.allowed import allowed_of
from benanza_ingest.reading.download import TOTAL_SECONDS
from benanza_runner.isolation.device_turn import LONGEST_TURN_S, DeviceTurn
from benanza_schemas.consumer_groups import AGENT, agent_group
from benanza_schemas.events import System

AT_ONCE = 1
"""Evaluations per turn. After each, the offset is committed."""

WAIT_S = 2 * LONGEST_TURN_S
"""An agent that doesn't get its device for so long leaves its evaluations to others meanwhile."""


def serve(
    settings: Settings,
    started: Started,
    *,
    has: AgentHas,
    evaluate: Evaluate = evaluate_apart,
    interval_s: float = INTERVAL_S,
) -> int:
    """Runs an agent with what it has, with a step for each framework, until a signal ends it.

    Returns the exit status. To be called in the process's main thread. Raises `BenanzaError` if
    the service can't be started.
    """
    kafka = kafka_of(settings)
    service = Service(AGENT, settings)
    longest_s = TOTAL_SECONDS + WAIT_S + LONGEST_TURN_S

    def add(system: System) -> StepLoop:
        agent = Agent(has.agent_id, has.name, system)
        # Steps of one process take turns, too.
        turn = DeviceTurn(has.takes_turns_on, alone=True, wait_s=WAIT_S)
        at = At(turn, turn.files, limits_of(settings), allowed_of(settings), evaluate)

        @contextmanager
        def opened() -> Iterator[Step]:
            with (
                KafkaEventLog(kafka, longest_s) as log,
                agent_step(log, agent, lambda: announcement(has, 0, now), at, now) as step,
            ):
                yield step

        name = f"{AGENT} {system.runtime}"
        return service.add(name, opened, limit=AT_ONCE, longest_turn_s=longest_s)

    loops = [(system, add(system)) for system in has.systems]

    def working() -> AgentHas:
        """Without the frameworks that do nothing until the agent is started again."""
        return has._replace(systems=tuple(system for system, loop in loops if not loop.failed))

    groups = [agent_group(system.system_id).name for system in has.systems]
    with Announcer(kafka, working, now, interval_s):
        return service.run(lambda address: started(groups, address))
