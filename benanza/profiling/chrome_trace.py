"""Profiles in Chrome's trace format, which Perfetto and chrome://tracing show.

Source: "Trace Event Format" of the Chromium project. Times are in microseconds.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from benanza.results.profiles import ModelProfile


def chrome_trace(profiles: Sequence[ModelProfile]) -> bytes:
    """The runs as one file of JSON: each is a process, and each of its calls a slice with the
    positions of its layers.
    """
    events = [event for number, each in enumerate(profiles) for event in _events(number, each)]
    return msgspec.json.encode({"traceEvents": events, "displayTimeUnit": "ms"})


def _events(process: int, profile: ModelProfile) -> Iterator[dict[str, Any]]:
    run = f"{profile.framework} {profile.version}, {profile.configuration}"
    title = f"{profile.model}, batch {profile.batch}, {profile.precision}: {run}"
    yield {"ph": "M", "pid": process, "tid": 0, "name": "process_name", "args": {"name": title}}
    if profile.looked_at_us is not None:
        yield _slice(process, profile.model, 0.0, profile.looked_at_us, {"run": run})
    for call in profile.calls:
        arguments = {"name": call.name, "layers": call.positions, "iqr_us": call.iqr_us}
        yield _slice(process, call.op, call.start_us, call.us, arguments)


def _slice(
    process: int, name: str, start_us: float, us: float, arguments: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": process,
        "tid": 0,
        "name": name,
        "ts": start_us,
        "dur": us,
        "args": arguments,
    }
