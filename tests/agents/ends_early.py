"""A process that answers once as an agent's does, and is killed when it is asked again."""

import os
import signal
import sys

from benanza.agents.serving.messages import MOST_BYTES, ModelWasEvaluated, encoder
from benanza_backbone.worker import frames


def main(agent: int) -> None:
    frames.receive(agent, MOST_BYTES)
    frames.send(agent, encoder.encode(ModelWasEvaluated({"p50_us": 1.0}, "", "")))
    frames.receive(agent, MOST_BYTES)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]))
