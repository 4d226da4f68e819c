"""Records what this machine makes of the layers of the zoo's models, for `benanza import`:

    python -m benchmarks.record FILE --batch 1,32 --precision fp32,tf32,fp16,bf16 --seconds 500
    python -m benchmarks.record FILE --precision fp16 --models resnet50,timm:levit_192

Models are those of the zoo, or files whose paths have a slash. Without --models, they are the nine
of the `onnx` package. Without --batch each has its own batch size, or 1. With --dim
past=1023,4095, named dimensions are bound to each of several sizes, in all combinations. With
--quantised or --tensor-parallel, what is derived of them is recorded, too. It needs neither an
event log nor a store. What the file holds already is kept, and not measured again: so the time may
be too short for everything, and the same command again goes on from there.
"""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import cast

import msgspec

from benanza.importing.recording import Recorded, read_recording, write_recording
from benanza.publishing.event import model_published
from benanza.request import derivations
from benanza_backbone.settings import load
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, zoo_names
from benanza_runner.core import Runner, in_tf32
from benanza_runner.runtime import Runtime
from benanza_runner.runtimes import open_runtime
from benanza_schemas.events import (
    BenchmarkRequested,
    Event,
    LayerMeasured,
    LayerSeen,
    SystemMeasured,
    event_id,
)
from benanza_schemas.events.derivation import Derivation, Quantised
from benanza_schemas.layer import Precision


def main() -> None:
    """Measures, and writes the file at the end or on Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--batch", default="")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--models", default=",".join(zoo_names()))
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--quantised", default="")
    parser.add_argument("--tensor-parallel", default="")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    precisions = [cast(Precision, name) for name in asked.precision.split(",")]
    events = [event for _, event in read_recording(asked.file)] if asked.file.exists() else []
    with open_runtime("auto", load(os.environ)) as runtime:
        system_id = runtime.system().system_id
        known = {
            (event.fingerprint, event.precision): event
            for event in events
            if isinstance(event, LayerMeasured) and event.system.system_id == system_id
        }
        derived = derivations_of(asked.quantised, asked.tensor_parallel)
        batch_sizes = tuple(int(size) for size in _listed(asked.batch))
        points = points_of(asked.dim)
        jobs = _jobs(asked.models.split(","), batch_sizes, points, derived)
        wanted = [
            (job, precision)
            for precision in precisions
            for job in jobs
            if (job.fingerprint, precision) not in known
        ]
        measured = 0
        try:
            _describe(events, runtime, precisions)
            runtime.expect((job.layer, precision) for job, precision in wanted)
            for job, precision in wanted:
                if time.monotonic() > until:
                    break
                in_fp32 = known.get((job.fingerprint, "fp32")) if precision == "tf32" else None
                shared = in_tf32(job, in_fp32) if in_fp32 else None
                results = [shared] if shared else Runner(runtime, [precision], _now).handle(job)
                known |= {(event.fingerprint, event.precision): event for event in results}
                events += results
                measured += 1
        finally:
            write_recording(asked.file, events)
            print(f"{measured:,} of {len(wanted):,} measured; {len(events):,} events in the file")
            if measured < len(wanted):
                command = shlex.join(["python", "-m", "benchmarks.record", *sys.argv[1:]])
                print(f"This goes on:\n\n    {command}")


def derivations_of(quantised: str, tensor_parallel: str = "") -> tuple[Derivation, ...]:
    """What is made of each model, the model itself first."""
    return derivations(
        cast(list[Quantised], _listed(quantised)), [int(gpus) for gpus in _listed(tensor_parallel)]
    )


def address(model: str) -> str:
    """Where a model of the command line is: a path with a slash, or else one of the zoo."""
    return model if "/" in model else PREFIX + model


def ingested(
    name: str, batch_sizes: tuple[int, ...], dims: dict[str, int], derivation: Derivation
) -> Iterator[tuple[Event, bytes]]:
    """What ingest says of a model, and the content of its file."""
    model = fetch(address(name), Limits())
    published = model_published(
        name=name,
        sha256=model.sha256,
        uri=model.uri,
        zoo="",
        batch_sizes=batch_sizes,
        dims=dims,
        derivation=derivation,
    )
    for event in ingest(published, model.content, Limits()):
        yield event, model.content


def _listed(text: str) -> list[str]:
    return text.split(",") if text else []


def points_of(dims: list[str]) -> list[dict[str, int]]:
    """Each combination of the sizes that these, such as `past=1023,4095`, give dimensions."""
    sizes = {name: _listed(text) for name, _, text in (dim.partition("=") for dim in dims)}
    return [dict(zip(sizes, map(int, point), strict=True)) for point in product(*sizes.values())]


def _jobs(
    names: list[str],
    batch_sizes: tuple[int, ...],
    points: list[dict[str, int]],
    derived: tuple[Derivation, ...],
) -> list[BenchmarkRequested]:
    """Each layer and group of these models, and of what is derived of them, once."""
    jobs: dict[str, BenchmarkRequested] = {}
    for name, dims, derivation in product(names, points, derived):
        for event, _ in ingested(name, batch_sizes, dims, derivation):
            if isinstance(event, LayerSeen):
                jobs[event.fingerprint] = BenchmarkRequested(
                    event_id=event_id("BenchmarkRequested", event.fingerprint),
                    fingerprint=event.fingerprint,
                    layer=event.layer,
                )
    return list(jobs.values())


def _describe(events: list[Recorded], runtime: Runtime, precisions: list[Precision]) -> None:
    """Sees to it that the file says what the system can reach at each of the precisions."""
    described = list(_descriptions(events, runtime))
    known = tuple(ceiling for event in described for ceiling in event.ceilings)
    lacking = [p for p in precisions if p not in {ceiling.precision for ceiling in known}]
    if not lacking and described:
        return
    description = Runner(runtime, lacking, _now).describe()
    events[:] = [event for event in events if event not in described]
    events.insert(0, msgspec.structs.replace(description, ceilings=(*known, *description.ceilings)))


def _descriptions(events: list[Recorded], runtime: Runtime) -> Iterator[SystemMeasured]:
    for event in events:
        if isinstance(event, SystemMeasured) and event.system == runtime.system():
            yield event


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    main()
