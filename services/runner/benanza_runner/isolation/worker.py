"""The process in which layers run, so that a layer that fails takes nothing else along.

It is started as `python -m benanza_runner.isolation.worker FD`. FD is the file descriptor of a
socket to the runner. Standard input is a pipe that closes when the runner ends, however it ends.
"""

import importlib
import os
import resource
import signal
import sys
import threading
from multiprocessing.connection import Connection

from benanza_runner.isolation.messages import (
    MAX_MESSAGE_BYTES,
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
from benanza_runner.reasons import one_line
from benanza_runner.runtime import Runtime


def main(file_descriptor: int) -> None:
    """Answers requests until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the runner to act on.
    threading.Thread(target=_die_with_the_runner, daemon=True).start()
    with Connection(file_descriptor) as connection:
        start = requests.decode(connection.recv_bytes(MAX_MESSAGE_BYTES))
        if not isinstance(start, Start):
            raise TypeError(f"the first message is a {type(start).__name__}, not a Start")
        _limit_memory(start.memory_bytes)
        try:
            runtime = _make(start)
            connection.send_bytes(
                encoder.encode(Described(runtime.system(), runtime.cache_bytes()))
            )
        except Exception as error:  # noqa: BLE001  # whatever it is, the runner has to hear of it
            connection.send_bytes(encoder.encode(Failed(_reason(error))))
            return
        while True:
            try:
                request = requests.decode(connection.recv_bytes(MAX_MESSAGE_BYTES))
            except EOFError:
                return
            connection.send_bytes(encoder.encode(_answer(runtime, request)))


def _die_with_the_runner() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _limit_memory(memory_bytes: int) -> None:
    """Makes allocations fail before the system has to choose a process to kill."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


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
    return one_line(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
