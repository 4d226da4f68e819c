"""Runs and bounds in Chrome's trace format, which Perfetto and chrome://tracing show.

Source: "Trace Event Format" of the Chromium project. Times are in microseconds.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from benanza.results.explain import Explanation
from benanza.results.profile import ModelProfile

CALLS, KERNELS = 0, 1
"""The rows of a run, which the format calls threads."""


def chrome_trace(profiles: Sequence[ModelProfile], bounds: Sequence[Explanation] = ()) -> bytes:
    """The bounds and the runs as one file of JSON: each is a process, and each of its calls a slice
    with the positions of its layers. Kernels are in a row of their own. Calls that were timed in
    another run stand there alone. Calls of a bound come one after the other, as they are given.
    """
    of_bounds = [event for number, of in enumerate(bounds) for event in _of_bound(number, of)]
    of_runs = [
        event
        for number, profile in enumerate(profiles, len(bounds))
        for event in _events(number, profile)
    ]
    events = [*of_bounds, *of_runs]
    return msgspec.json.encode({"traceEvents": events, "displayTimeUnit": "ms"})


def _of_bound(process: int, explanation: Explanation) -> Iterator[dict[str, Any]]:
    bound = explanation.bound
    title = f"{bound.model}, batch {bound.batch}, {bound.precision}: the bound"
    yield process_name(process, title)
    start_us = 0.0
    for call in explanation.calls:
        us = call.us + call.conversion_us
        arguments = {
            "names": call.layers,
            "layers": call.positions,
            "library": call.library,
            "algorithm": call.algorithm,
            "share": call.share,
            "conversion_us": call.conversion_us,
        }
        yield complete_event(process, CALLS, call.op, start_us, us, arguments)
        start_us += us


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
