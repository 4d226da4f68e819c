"""The process in which layers run, so that a layer that fails takes nothing else along.

It is started as `python -m benanza_runner.isolation.worker FD`. FD is the file descriptor of a
socket to the runner. Standard input is a pipe that closes when the runner ends, however it ends.
"""

import importlib
import signal
import sys

from benanza_backbone.worker import frames
from benanza_backbone.worker.inside import end_with_the_parent, limit_memory
from benanza_runner.isolation.messages import (
    MOST_REQUEST_BYTES,
    CeilingsMeasured,
    Described,
    Failed,
    Measure,
    MeasureCeilings,
    Measured,
    ModelRun,
    Reply,
    Request,
    RunModel,
    Start,
    encoder,
    requests,
)
from benanza_runner.reasons import short_reason
from benanza_runner.runtime import Runtime


def main(runner: int) -> None:
    """Answers requests over this file descriptor until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the runner to act on.
    end_with_the_parent()
    start = _request(runner)
    if not isinstance(start, Start):
        raise TypeError(f"the first message is a {type(start).__name__}, not a Start")
    limit_memory(start.memory_bytes)
    try:
        runtime = _make(start)
        _reply(runner, Described(runtime.system(), runtime.cache_bytes()))
    except Exception as error:  # noqa: BLE001  # whatever it is, the runner has to hear of it
        _reply(runner, Failed(_reason(error)))
        return
    while True:
        try:
            request = _request(runner)
        except EOFError:
            return
        _reply(runner, _answer(runtime, request))


def _request(runner: int) -> Request:
    return requests.decode(frames.receive(runner, MOST_REQUEST_BYTES))


def _reply(runner: int, reply: Reply) -> None:
    frames.send(runner, encoder.encode(reply))


def _make(start: Start) -> Runtime:
    module, _, name = start.runtime.partition(":")
    runtime = getattr(importlib.import_module(module), name)(**start.arguments)
    if not isinstance(runtime, Runtime):
        raise TypeError(f"{start.runtime} is no Runtime")
    return runtime


def _answer(runtime: Runtime, request: Request) -> Reply:
    try:
        match request:
            case Measure():
                return Measured(runtime.measure(request.layer, request.precision))
            case MeasureCeilings():
                return CeilingsMeasured(runtime.ceilings(request.precision))
            case RunModel():
                return ModelRun(runtime.witness(request.program, request.precision))
            case Start():
                raise TypeError("the worker has been started already")
    except Exception as error:  # noqa: BLE001  # a defect in one layer must not cost the others
        return Failed(_reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    return short_reason(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
