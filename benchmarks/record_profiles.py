"""Records how a framework runs models on this machine, for `benanza import`:

    python -m benchmarks.record_profiles FILE MODEL... --framework pytorch --precision tf32,bf16

MODEL is as for `benanza profile`; PyTorch runs what `benanza export` wrote. Each model is run in
all configurations of the framework, or in those that are named. It needs neither an event log nor a
store. What the file holds already is kept, and not run again.
"""

import argparse
import os
import time
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import cast, get_args

from benanza.importing.recording import Recorded, read_recording, write_recording
from benanza.profiling.framework import Configuration, Framework, framework_named
from benanza.profiling.profile import profiled
from benanza.publishing.asked_models import AskedModel, asked_models
from benanza.request import RunRequest
from benanza_backbone.settings import load
from benanza_ingest.limits import limits_of
from benanza_ingest.reading.source import fetch
from benanza_schemas.events import ModelProfiled, device
from benanza_schemas.layer import Precision

_Run = tuple[AskedModel, Precision, Configuration]


def main() -> None:
    """Runs the models, and writes the file after each run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--framework", default="onnxruntime")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--batch", default="", help="such as 1,32; each model's own if not given")
    parser.add_argument("--configuration", action="append", help="once for each; all if none is")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then none is begun")
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    precisions = cast(list[Precision], asked.precision.split(","))
    if unknown := set(precisions) - set(get_args(Precision)):
        parser.error(f"{unknown.pop()!r} is none of {', '.join(get_args(Precision))}")
    framework = framework_named(asked.framework)
    configurations = framework.configurations()
    if asked.configuration:
        configurations = tuple(
            candidate for candidate in configurations if candidate.name in asked.configuration
        )
        if unknown_names := set(asked.configuration) - {
            candidate.name for candidate in configurations
        }:
            known_names = "; ".join(candidate.name for candidate in framework.configurations())
            parser.error(f"{unknown_names.pop()!r} is none of {known_names}")
    limits = limits_of(load(os.environ))
    sizes = asked.batch.split(",") if asked.batch else []
    if not all(size.isdecimal() and int(size) > 0 for size in sizes):
        parser.error(f"--batch {asked.batch}: give whole numbers from 1, such as 1,32")
    batch_sizes = tuple(map(int, sizes))
    models = [
        asked_model
        for name in asked.models
        for asked_model in asked_models(name, RunRequest((name,), batch_sizes), limits)
    ]
    events = [event for _, event in read_recording(asked.file)] if asked.file.exists() else []
    left = 0
    wanted = product(models, precisions, configurations)
    for model, precision, configuration in _lacking(wanted, framework, events):
        if time.monotonic() > until:
            left += 1
            continue
        content = fetch(model.model, limits).content
        event = profiled(model, content, framework, precision, configuration, limits)
        if event is None:
            continue
        events.append(event)
        write_recording(asked.file, events)  # at once: a run may crash the process
        us = f"{event.times.median_us:.1f} µs" if event.times else event.failure
        batch = f"batch {model.batch}, " if batch_sizes else ""
        print(f"{model.event.name} {batch}{precision}, {configuration.name}: {us}", flush=True)
    if left:
        print(f"{left} runs were not begun; the same command goes on with them")


def _lacking(
    wanted: Iterable[_Run], framework: Framework, events: Sequence[Recorded]
) -> list[_Run]:
    """The runs that the events don't hold."""
    system = framework.system()
    runtime = system.runtime
    known = {
        (event.model_id, event.precision, event.configuration)
        for event in events
        if isinstance(event, ModelProfiled)
        if (device(event.system), event.system.runtime) == (device(system), runtime)
        if event.system.libraries.get(runtime) == system.libraries.get(runtime)
    }
    return [
        (model, precision, configuration)
        for model, precision, configuration in wanted
        if (model.model_id, precision, configuration.name) not in known
    ]


if __name__ == "__main__":
    main()
