"""What an agent has here: its device, frameworks and memory."""

import logging
import os
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple

import psutil

from benanza.agents.serving.isolated import described_apart
from benanza_backbone.clock import now
from benanza_backbone.errors import BenanzaError
from benanza_runner.isolation import device_turn
from benanza_runner.isolation.memory import free_bytes
from benanza_runner.monitoring.gpu_state import gpu_memory
from benanza_schemas.events import System, device, event_id
from benanza_schemas.one_line import one_line

log = logging.getLogger(__name__)


class DeviceBytes(NamedTuple):
    """The memory of a device."""

    total_bytes: int
    free_bytes: int


class AgentHas(NamedTuple):
    """What an agent has. `takes_turns_on` names the device for `DeviceTurn`."""

    agent_id: str
    name: str
    device: str
    systems: tuple[System, ...]
    memory: Callable[[], DeviceBytes]
    takes_turns_on: tuple[str, ...]


def this_machine(frameworks: Sequence[str]) -> AgentHas:
    """What this process has, with those of the frameworks that run here, or with all of them.

    Where a framework runs on a GPU, only frameworks that do count. Raises `BenanzaError` if none
    runs here, or one of those that are named doesn't.
    """
    described = described_apart(frameworks)
    for name, failure in described.failures.items():
        if frameworks or not described.systems:
            raise BenanzaError(failure)
        log.info("no evaluations in %s: %s", name, one_line(failure))
    accelerators = {system.accelerator for system in described.systems}
    on = max(accelerators, default="")
    systems = tuple(system for system in described.systems if system.accelerator == on)
    for system in described.systems:
        if system not in systems:
            log.warning("no evaluations in %s: it doesn't run on %s", system.runtime, on)
    host = socket.gethostname()
    return AgentHas(
        agent_id=event_id("Agent", host, str(os.getpid()), now().isoformat()),
        name=f"{host}:{os.getpid()}",
        device=device(systems[0]),
        systems=systems,
        memory=_gpu_memory if on else _memory,
        takes_turns_on=device_turn.gpu() if on else device_turn.cores(),
    )


def _memory() -> DeviceBytes:
    return DeviceBytes(psutil.virtual_memory().total, free_bytes())


def _gpu_memory() -> DeviceBytes:
    return DeviceBytes(*gpu_memory())
