"""Profiles in Chrome's trace format, which Perfetto and chrome://tracing show.

Source: "Trace Event Format" of the Chromium project. Times are in microseconds.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from benanza.results.profile import ModelProfile

CALLS, KERNELS = 0, 1
"""The rows of a run, which the format calls threads."""


def chrome_trace(profiles: Sequence[ModelProfile]) -> bytes:
    """The runs as one file of JSON: each is a process, and each of its calls a slice with the
    positions of its layers. Kernels are in a row of their own. Calls that were timed in another run
    stand there alone.
    """
    events = [
        event for number, profile in enumerate(profiles) for event in _events(number, profile)
    ]
    return msgspec.json.encode({"traceEvents": events, "displayTimeUnit": "ms"})


def _events(process: int, profile: ModelProfile) -> Iterator[dict[str, Any]]:
    run = f"{profile.framework} {profile.version}, {profile.configuration}"
    title = f"{profile.model}, batch {profile.batch}, {profile.precision}: {run}"
    yield process_name(process, title)
    if profile.looked_at_us is not None:
        yield complete_event(process, CALLS, profile.model, 0.0, profile.looked_at_us, {"run": run})
    for call in () if profile.calls_of else profile.calls:
        arguments = {"name": call.name, "layers": call.positions, "iqr_us": call.iqr_us}
        yield complete_event(process, CALLS, call.op, call.start_us, call.us, arguments)
        for kernel in call.kernels:
            of_call = {"call": call.name, "layers": call.positions}
            at = (kernel.start_us, kernel.us)
            yield complete_event(process, KERNELS, kernel.name, *at, of_call)


def process_name(process: int, name: str) -> dict[str, Any]:
    """The event that names a process."""
    return {"ph": "M", "pid": process, "tid": 0, "name": "process_name", "args": {"name": name}}


def complete_event(
    process: int, row: int, name: str, start_us: float, us: float, arguments: dict[str, Any]
) -> dict[str, Any]:
    """The event of a slice."""
    return {
        "ph": "X",
        "pid": process,
        "tid": row,
        "name": name,
        "ts": start_us,
        "dur": us,
        "args": arguments,
    }
