"""A process that evaluates as that of an agent does, or only sleeps, and keeps a journal.

A line of the journal says that an evaluation began or ended on a device. Who begins while a process
that has begun and not ended on the same device is still alive says so.
"""

import os
import sys
import time
from pathlib import Path

from benanza.agents.core import EvaluationOutcome
from benanza.agents.serving.messages import (
    MOST_BYTES,
    EvaluateModel,
    ModelWasEvaluated,
    asked,
    encoder,
)
from benanza_backbone.worker import frames
from benanza_backbone.worker.inside import end_with_the_parent

JOURNAL, DEVICE, SLEEP_S = "TESTS_JOURNAL", "TESTS_DEVICE", "TESTS_SLEEP_S"
"""The variables of the environment that say where and what. With no `SLEEP_S`, it evaluates."""


def main(agent: int) -> None:
    end_with_the_parent()
    request = asked.decode(frames.receive(agent, MOST_BYTES))
    assert isinstance(request, EvaluateModel)
    evaluation = request.requested.event_id
    for other in _alive_on(os.environ[DEVICE]):
        _note("together-with", str(other))
    _note("began", evaluation)
    figures, report, failure = _outcome(request)
    _note("ended", evaluation)
    frames.send(agent, encoder.encode(ModelWasEvaluated(dict(figures), report, failure)))


def _outcome(request: EvaluateModel) -> EvaluationOutcome:
    if sleep_s := os.environ.get(SLEEP_S):
        time.sleep(float(sleep_s))
        return EvaluationOutcome({"slept_s": float(sleep_s)})
    from benanza.agents.serving.worker import evaluated_in_file

    return evaluated_in_file(request).outcome


def _note(what: str, of: str) -> None:
    with Path(os.environ[JOURNAL]).open("a") as journal:
        journal.write(f"{os.environ[DEVICE]} {os.getpid()} {what} {of}\n")


def _alive_on(device: str) -> list[int]:
    """The processes that have begun on the device, have not ended, and are alive."""
    begun: dict[int, bool] = {}
    if Path(os.environ[JOURNAL]).exists():
        for line in Path(os.environ[JOURNAL]).read_text().splitlines():
            on, pid, what, _ = line.split()
            if on == device:
                begun[int(pid)] = what == "began" or (
                    what != "ended" and begun.get(int(pid), False)
                )
    return [pid for pid, open_ in begun.items() if open_ and _is_alive(pid)]


def _is_alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


if __name__ == "__main__":
    main(int(sys.argv[1]))
