"""An agent's process over a real broker."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benanza.agents.known_agents import KnownAgent, known_agents
from benanza_backbone.clock import now
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.service.circuit_breaker import MAX_IN_A_ROW
from benanza_schemas.topics import EVALUATIONS

pytestmark = pytest.mark.integration

PATIENCE_S = 60.0


def test_an_agent_does_not_offer_a_framework_whose_step_is_closed(
    kafka: KafkaConnection, tmp_path: Path
) -> None:
    """What nobody can read closes a step until a restart; requests would be accepted and wait."""
    environment = {
        **os.environ,
        "BENANZA_KAFKA": ",".join(kafka.bootstrap),
        "BENANZA_KAFKA_PREFIX": kafka.prefix,
        "BENANZA_METRICS_PORT": "0",
        "TMPDIR": str(tmp_path),
    }
    command = [sys.executable, "-m", "tests.agents.agent_process", "a", "device-0", "some-cpu"]
    with (
        KafkaEventLog(kafka) as log,
        subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL) as process,
    ):
        try:
            assert len(_announced(log, lambda agent: True).announced.systems) == 1
            unreadable = [Message(EVALUATIONS, b"key", b"no event")] * (MAX_IN_A_ROW + 1)
            log.append(unreadable)
            closed = _announced(log, lambda agent: not agent.announced.systems)
            assert not closed.is_gone(now())
        finally:
            process.kill()


def _announced(log: KafkaEventLog, wanted: Callable[[KnownAgent], bool]) -> KnownAgent:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for agent in known_agents(log, now()).values():
            if wanted(agent):
                return agent
        time.sleep(0.2)
    raise AssertionError("no agent says so")
