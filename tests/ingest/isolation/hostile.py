"""A process of ingest that a model has taken over: what it does, the name of the model says.

It confines nothing, and imports ingest only for models of other names.
"""

import os
import pickle
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from struct import pack

from benanza_backbone.confining.confine import Confinement
from benanza_backbone.confining.system_calls import end_with_parent
from benanza_backbone.worker import frames
from benanza_ingest.isolation.forking import answer_in_children
from benanza_ingest.isolation.messages import (
    MOST_REQUEST_BYTES,
    Fetched,
    Refused,
    TakeApart,
    encoder,
    requests,
)


class Payload:
    """What creates a file where it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str, int], int], tuple[str, int]]:
        return os.open, (self.path, os.O_CREAT)


def pickled(path: str) -> bytes:
    """The payload."""
    return pickle.dumps(Payload(path))


def taken_over(parent: int) -> None:
    """Does what the name of the model says; its `zoo` says where a file must not be created."""
    end_with_parent(os.getppid())  # as a real worker does
    request = requests.decode(frames.receive(parent, MOST_REQUEST_BYTES))
    assert isinstance(request, TakeApart)
    published = request.published
    payload = pickled(published.zoo)
    match published.name:
        case "closes":
            return
        case "hangs":
            time.sleep(3600)
        case "closes and hangs":
            os.close(parent)
            time.sleep(3600)
        case "answers noise":
            os.write(parent, b"\xff" + os.urandom(999))  # Of small lengths a reader waits for more.
        case "answers a pickle":
            frames.send(parent, payload)
        case "answers a bare pickle":
            os.write(parent, payload)
        case "announces too much":
            os.write(parent, pack("!I", 2**32 - 1))
            time.sleep(3600)
        case "announces more than it has":
            os.write(parent, pack("!I", 60_000_000) + b"\x81")
        case "answers without end":
            while True:
                os.write(parent, bytes(1 << 20))
        case "trickles":
            os.write(parent, pack("!I", 1000))
            while True:
                os.write(parent, b"x")
                time.sleep(0.01)
        case "answers a number":
            frames.send(parent, encoder.encode(1))
        case "answers another question":
            frames.send(parent, encoder.encode(Fetched()))
        case "refuses at length":
            frames.send(parent, encoder.encode(Refused("x" * 1_000_000)))
        case "refuses in many lines":
            frames.send(parent, encoder.encode(Refused("is\n\x1b[31mno model\r\u2028" * 100)))
        case "nests deeply":
            frames.send(parent, b"\x91" * 1_000_000)
        case "sends a descriptor":
            reader, writer = os.pipe()
            with socket.socket(fileno=os.dup(parent)) as ours:
                socket.send_fds(ours, [pack("!I", 1)], [writer] * 100)
            os.close(writer)
            os.read(reader, 1)  # It ends once nobody has the other end any more.
            Path(published.zoo + ".dropped").touch()
            os.write(parent, b"x")
        case _:
            from benanza_ingest.core import extracted
            from benanza_ingest.isolation.answers import packed
            from benanza_ingest.published import content_of

            content = content_of(published, request.limits)
            for model in extracted(published, content, request.limits):
                message = encoder.encode(packed(model))
                frames.send(parent, message)
                if published.name == "answers twice":
                    frames.send(parent, message)
                    time.sleep(3600)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as ingest:
        frames.receive(ingest.fileno(), MOST_REQUEST_BYTES)
        frames.send(ingest.fileno(), encoder.encode(Confinement(files=True, calls=True)))
        answer_in_children(ingest, taken_over)
