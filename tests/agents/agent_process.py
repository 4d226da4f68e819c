"""`python -m tests.agents.agent_process NAME DEVICE SYSTEM`: an agent that says that it has this
device and system, whatever there is.
"""

import os
import sys
from collections.abc import Sequence
from functools import partial

from benanza.agents.serving.isolated import evaluate_apart
from benanza.agents.serving.service import serve
from benanza.agents.serving.this_machine import AgentHas, DeviceBytes
from benanza.commands.running.serve import say, settings_of_service
from benanza_backbone.clock import now
from benanza_schemas.consumer_groups import AGENT
from benanza_schemas.events import System, event_id, identified

MODULE = "tests.agents.worker"
INTERVAL_S = 1.0


def system(kind: str) -> System:
    """The system of this name: ONNX Runtime on a CPU that is called so."""
    return identified(
        System(
            system_id="0" * 32,
            runtime="onnxruntime",
            accelerator="",
            driver="",
            cuda="",
            cudnn="",
            cublas="",
            cpu=kind,
            threads=1,
            libraries={"onnxruntime": "1.0"},
            method="",
        )
    )


def main(arguments: Sequence[str]) -> int:
    name, device, kind = arguments
    has = AgentHas(
        agent_id=event_id("Agent", name, str(os.getpid()), now().isoformat()),
        name=f"{name}:{os.getpid()}",
        device=device,
        systems=(system(kind),),
        memory=lambda: DeviceBytes(2, 1),
        takes_turns_on=(device,),
    )
    settings = settings_of_service()
    evaluate = partial(evaluate_apart, module=MODULE)
    return serve(settings, say(AGENT, settings), has=has, evaluate=evaluate, interval_s=INTERVAL_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
