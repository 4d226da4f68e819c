"""Whole models run as their bounds say, against the bound and the attainable estimate:

    python -m benchmarks.gpu_witness RECORDING OUT.json --precision fp32,fp16 --batch 1

On a machine with the GPU of the recording; it needs neither an event log nor a store. Writes
after each model, so that what was measured is kept however it ends.
"""

import argparse
import json
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from benanza.recording import read_recording
from benanza.witnessing import program_of
from benanza_analyzer.core import Analyzer
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.source import fetch
from benanza_ingest.zoo import PREFIX, zoo_names
from benanza_runner.cuda.runtime import CudaRuntime
from benanza_schemas.events import (
    LayerMeasured,
    ModelIngested,
    ModelPublished,
    event_id,
)
from benanza_schemas.layer import Precision


def main() -> None:
    """Prints a line for each model and precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", default=",".join(zoo_names()))
    parser.add_argument("--precision", default="fp32,fp16")
    parser.add_argument("--batch", default="1")
    asked = parser.parse_args()
    limits = Limits()
    runtime = CudaRuntime()
    system_id = runtime.system().system_id
    recorded = [event for _, event in read_recording(asked.recording)]
    analyzer = Analyzer()
    models: list[tuple[ModelIngested, bytes]] = []
    for name in asked.models.split(","):
        content = fetch(f"{PREFIX}{name}", limits).content
        published = ModelPublished(
            event_id=event_id("ModelPublished", name),
            name=name,
            sha256="0" * 64,
            batch_sizes=tuple(map(int, asked.batch.split(","))),
        )
        ingested = ingest(published, content, limits)
        models += [(event, content) for event in ingested if isinstance(event, ModelIngested)]
    now = datetime.now(UTC)
    bounds: dict[tuple[str, str], Any] = {}
    measured: dict[str, dict[str, list[LayerMeasured]]] = defaultdict(lambda: defaultdict(list))
    for event in [*(model for model, _ in models), *recorded]:
        if isinstance(event, LayerMeasured):
            measured[event.precision][event.fingerprint].append(event)
        for bound in analyzer.handle(event, now):
            if bound.accounting == "full" and bound.fusion:
                bounds[bound.model_id, bound.precision] = bound
    found: list[dict[str, Any]] = []
    for precision in cast(list[Precision], asked.precision.split(",")):
        for model, content in models:
            bound = bounds[model.model_id, precision]
            covered = analyzer.covered(model.model_id, bound.system_id, precision)
            program = program_of(model, content, covered, measured[precision], limits)
            testimony = runtime.witness(program, precision)
            row = {
                "model": model.name,
                "batch": model.batch,
                "precision": precision,
                "layout": bound.layout,
                "bound_us": bound.sequential_us,
                "parallel_bound_us": bound.parallel_us,
                "attainable_us": bound.attainable_us,
                "sequential_us": testimony.sequential and testimony.sequential.median_us,
                "sequential_iqr_us": testimony.sequential and testimony.sequential.iqr_us,
                "parallel_us": testimony.parallel and testimony.parallel.median_us,
                "calls": testimony.calls,
                "layout_changes": testimony.layout_changes,
                "failure": testimony.failure,
                "same_system": bound.system_id == system_id,
            }
            print(json.dumps(row), flush=True)
            found.append(row)
            asked.out.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
