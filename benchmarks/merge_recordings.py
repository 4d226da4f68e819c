"""One recording of several, such as those of a machine's GPUs:

    python -m benchmarks.merge_recordings OUT FILE ...

Of what `benchmarks.pytorch.compare` wrote, it takes `NAME.layers.gz`.

Of several measurements of a layer on a system at a precision the last one with a time counts, in
the order of the files; of several ceilings the highest, as for the analyzer.
"""

import argparse
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from benanza.importing.recording import Recorded, read_recording, write_recording
from benanza_schemas.events import (
    Ceiling,
    LayerMeasured,
    ModelProfiled,
    ModelWitnessed,
    SystemMeasured,
    event_id,
)
from benanza_schemas.times import is_timed
from benchmarks.pytorch.measurements import events_in


def main() -> None:
    """Writes the file, and says what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    asked = parser.parse_args()
    events = merged(event for path in asked.files for event in _events(path))
    write_recording(asked.out, events)
    print(f"{len(events):,} events in {asked.out}")


def _events(path: Path) -> Iterator[Recorded]:
    if path.suffix != ".gz":
        yield from (event for _, event in read_recording(path))
        return
    if not path.exists():
        raise SystemExit(f"there is no file {path}; name what compare wrote beside its OUT.jsonl")
    try:
        measured = events_in(path)
    except (EOFError, OSError, zlib.error, msgspec.DecodeError) as error:
        raise SystemExit(f"{path} is damaged ({error}); measure again into another file") from error
    yield from {event.system.system_id: _described(event) for event in measured}.values()
    yield from measured


def _described(event: LayerMeasured) -> SystemMeasured:
    """The system of a measurement, without ceilings, which `compare` doesn't measure."""
    system, time = event.system, event.measured_at
    identity = event_id("SystemMeasured", system.system_id, time.isoformat())
    return SystemMeasured(event_id=identity, system=system, measured_at=time, ceilings=())


def merged(events: Iterable[Recorded]) -> list[Recorded]:
    """The events that count, systems first."""
    systems: dict[str, SystemMeasured] = {}
    layers: dict[tuple[str, str, str], LayerMeasured] = {}
    runs: dict[str, ModelProfiled | ModelWitnessed] = {}
    for event in events:
        match event:
            case LayerMeasured():
                key = event.fingerprint, event.system.system_id, event.precision
                if key not in layers or is_timed(event):
                    layers[key] = event
            case SystemMeasured():
                known = systems.get(event.system.system_id, event)
                systems[event.system.system_id] = _joined(known, event)
            case _:
                runs[event.event_id] = event
    return [*systems.values(), *layers.values(), *runs.values()]


def _joined(known: SystemMeasured, event: SystemMeasured) -> SystemMeasured:
    highest: dict[tuple[str, str], Ceiling] = {}
    for ceiling in (*known.ceilings, *event.ceilings):
        key = ceiling.name, ceiling.precision
        highest[key] = max(
            ceiling, highest.get(key, ceiling), key=lambda candidate: candidate.value
        )
    cache_bytes = max(known.cache_bytes, event.cache_bytes)
    return msgspec.structs.replace(event, ceilings=tuple(highest.values()), cache_bytes=cache_bytes)


if __name__ == "__main__":
    main()
