"""A process that doesn't answer as an agent's does, but as `HOW` in its environment says."""

import os
import signal
import sys
import time

from benanza.agents.serving.messages import MOST_BYTES
from benanza_backbone.worker import frames
from benanza_backbone.worker.inside import end_with_the_parent

HOW = "TESTS_HOW"


def main(agent: int) -> None:
    end_with_the_parent()
    frames.receive(agent, MOST_BYTES)
    match os.environ[HOW]:
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "ends":
            sys.exit("last words")
        case "noise":
            frames.send(agent, b"\xc1")
        case _:
            time.sleep(60)


if __name__ == "__main__":
    main(int(sys.argv[1]))
