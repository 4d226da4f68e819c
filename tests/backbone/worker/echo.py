"""A worker that answers what it is told to."""

import os
import sys
import time

from benanza_backbone.worker import frames
from benanza_backbone.worker.inside import end_with_the_parent, limit_memory


def main(parent: int) -> None:
    end_with_the_parent()
    limit_memory(1 << 30)
    while True:
        match bytes(frames.receive(parent, 1000)).decode().split():
            case ["say", number]:
                frames.send(parent, int(number).to_bytes(1, "big"))
            case ["say", *numbers]:
                for number in numbers:
                    frames.send(parent, int(number).to_bytes(1, "big"))
            case ["sleep"]:
                time.sleep(3600)
            case ["exit", status, *words]:
                os.write(2, " ".join(words).encode())
                os._exit(int(status))
            case ["environment", name]:
                frames.send(parent, bytes([name in os.environ]))
            case ["write", *numbers]:
                os.write(parent, bytes(map(int, numbers)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
