"""A worker of the runner that a layer has taken over: what it does, the layer's operator says."""

import os
import pickle
import sys
import time
from collections.abc import Callable
from struct import pack

from benanza_backbone.worker import frames
from benanza_runner.isolation.messages import (
    MOST_REQUEST_BYTES,
    CeilingsMeasured,
    Described,
    Failed,
    Measure,
    Measured,
    encoder,
    requests,
)
from benanza_schemas.layer import Layer
from tests.runner.fake_runtime import FakeRuntime


class Payload:
    """What creates a file where it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[str, int], int], tuple[str, int]]:
        return os.open, (self.path, os.O_CREAT)


def answer(runner: int, layer: Layer) -> bool:
    """Whether it goes on after it answered for this layer."""
    (operator,) = layer.operators
    measured = encoder.encode(Measured(FakeRuntime().measure(layer, "fp32")))
    match operator.op_type:
        case "Noise":
            os.write(runner, os.urandom(1000))
        case "Pickle":
            (path,) = operator.attributes
            frames.send(runner, pickle.dumps(Payload(str(path.value))))
        case "Announce":
            os.write(runner, pack("!I", 2**32 - 1))
        case "CutOff":
            os.write(runner, pack("!I", len(measured)) + measured[:-1])
        case "WithoutEnd":
            os.write(runner, pack("!I", 15_000_000))
            while True:
                os.write(runner, bytes(1000))
                time.sleep(0.01)
        case "Nest":
            frames.send(runner, b"\x91" * 1_000_000)
        case "WrongKind":
            frames.send(runner, encoder.encode(CeilingsMeasured(())))
            return True
        case "Lines":
            frames.send(runner, encoder.encode(Failed("is\n\x1b[31mno\r\u2028layer" * 1000)))
            return True
        case "Twice":
            forged = encoder.encode(Failed("forged"))
            # At once, or the next question may be on its way between the two.
            frames_of_both = (pack("!I", len(each)) + each for each in (measured, forged))
            os.write(runner, b"".join(frames_of_both))
            return True
        case _:
            frames.send(runner, measured)
            return True
    return False


def main(runner: int) -> None:
    runtime = FakeRuntime()
    frames.receive(runner, MOST_REQUEST_BYTES)
    frames.send(runner, encoder.encode(Described(runtime.system(), runtime.cache_bytes())))
    goes_on = True
    while goes_on:
        request = requests.decode(frames.receive(runner, MOST_REQUEST_BYTES))
        assert isinstance(request, Measure)
        goes_on = answer(runner, request.layer)


if __name__ == "__main__":
    main(int(sys.argv[1]))
