"""Ceilings that recordings lack: the highest rates that their layers reached.

    python -m benchmarks.recorded_ceilings recordings/nvidia-h200-ceilings.xz recordings/*.xz

The rate of calls is that of the shortest call of all; that of the memory is of the calls that move
several times the bytes of the last cache, of the models of the `onnx` package. A microbenchmark may
reach more, so a runner's own ceilings count instead of these.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from benanza.importing.recording import read_recording, write_recording
from benanza_analyzer.limits.speed_of_light import BYTES_KEPT, MICROSECONDS
from benanza_analyzer.measurements import STARTED_US
from benanza_ingest.extract import extract
from benanza_ingest.reading.zoo import zoo_names, zoo_path
from benanza_runner.ceilings import BEYOND_CACHE
from benanza_schemas.events import Ceiling, CeilingName, LayerMeasured, SystemMeasured, event_id
from benanza_schemas.layer import Precision
from benanza_schemas.times import has_warm_time

BATCHES = (1, 32)


class Call(NamedTuple):
    """A call with its shortest time, and the interquartile range as a part of that. `moved` are its
    bytes at its precision, zero where that isn't known.
    """

    us: float
    spread: float
    moved: float
    measured_at: datetime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("recordings", type=Path, nargs="+")
    asked = parser.parse_args()
    events = (event for path in asked.recordings for _, event in read_recording(path))
    write_recording(asked.out, recorded_ceilings(events, bytes_of_layers()))


def bytes_of_layers() -> dict[str, int]:
    """The bytes that layers and groups move, by fingerprint."""
    models = [
        extract(zoo_path(name).read_bytes(), batch=batch)
        for name in zoo_names()
        for batch in BATCHES
    ]
    layers = {layer.fingerprint: layer.bytes for model in models for layer in model.layers}
    return layers | {group.fingerprint: group.bytes for model in models for group in model.groups}


def recorded_ceilings(events: Iterable[object], moved: Mapping[str, int]) -> list[SystemMeasured]:
    """Those of each system of which other ceilings are known."""
    described: dict[str, SystemMeasured] = {}
    shortest: dict[str, Call] = {}
    timed: dict[tuple[str, Precision], list[Call]] = defaultdict(list)
    for event in events:
        if isinstance(event, SystemMeasured) and event.ceilings:
            described[event.system.system_id] = event
        if isinstance(event, LayerMeasured):
            system = event.system.system_id
            size = moved.get(event.fingerprint, 0) * BYTES_KEPT[event.precision]
            for variant in filter(has_warm_time, event.variants):
                us, spread = variant.minimum_us or 0.0, variant.iqr_us or 0.0
                if us < STARTED_US:
                    continue
                call = Call(us, spread / us, size, event.measured_at)
                shortest[system] = min(shortest.get(system, call), call)
                timed[system, event.precision].append(call)
    return [
        _ceilings(event, shortest[system], {p: c for (s, p), c in timed.items() if s == system})
        for system, event in sorted(described.items())
    ]


def _ceilings(
    event: SystemMeasured, shortest: Call, calls: Mapping[Precision, list[Call]]
) -> SystemMeasured:
    found = []
    for precision, of in calls.items():
        found.append(_ceiling("launches", precision, shortest, 1.0))
        beyond = [call for call in of if call.moved >= BEYOND_CACHE * event.cache_bytes]
        if beyond:
            fastest = max(beyond, key=lambda call: call.moved / call.us)
            found.append(_ceiling("memory", precision, fastest, fastest.moved))
    return SystemMeasured(
        event_id=event_id("RecordedCeilings", event.system.system_id),
        system=event.system,
        measured_at=shortest.measured_at,
        ceilings=tuple(found),
        cache_bytes=event.cache_bytes,
    )


def _ceiling(name: CeilingName, precision: Precision, call: Call, amount: float) -> Ceiling:
    rate = amount / call.us * MICROSECONDS
    return Ceiling(name, precision, rate, rate * call.spread)


if __name__ == "__main__":
    main()
