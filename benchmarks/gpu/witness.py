"""Witnesses: whole models run as their bounds say, against bound and attainable estimate:

    python -m benchmarks.gpu.witness RECORDING OUT.json --precision fp32,fp16 --batch 1
    python -m benchmarks.gpu.witness RECORDING OUT.json --precision fp16 --what-ifs

It runs on a machine with the GPU of the recording, and needs neither an event log nor a store. The
bound's variants are timed once more, so that differences between the recording and now are seen. It
writes after each model; models that the file holds already are not measured again. If everything
takes longer in the process than when it started, another process takes its place. With --what-ifs,
models also run as their bounds would say under other policies: without fusion, in one layout. With
--events, the runs are written as a recording for `benanza import`, too.
"""

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain, product
from pathlib import Path
from statistics import median
from typing import Any, cast

import cupy

from benanza.importing.recording import read_recording, write_recording
from benanza.looking.bound_program import program_of
from benanza.looking.witness import witnessed_event
from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.answers.policies import FASTEST, POLICIES, Policy
from benanza_analyzer.answers.under_policy import under
from benanza_analyzer.attainable import cold_share, estimate_us
from benanza_analyzer.core import Analyzer
from benanza_ingest.limits import Limits
from benanza_ingest.reading.zoo import zoo_names
from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.runtime import CudaRuntime
from benanza_runner.cuda.search.instruments import NoiseError
from benanza_runner.cuda.timing.graph_timer import GraphTimer
from benanza_runner.cuda.timing.interleaved import CudaInterleavedTimer
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import (
    BoundUpdated,
    Event,
    LayerMeasured,
    ModelIngested,
    ModelWitnessed,
    SystemMeasured,
)
from benanza_schemas.events.derivation import Derivation
from benanza_schemas.layer import Precision
from benanza_schemas.program import Choice, Program, ProgramStep
from benchmarks.record import derivations_of, ingested, points_of

CALLS = 100
SAMPLES = 9


def main() -> None:
    """Prints a line for each model and precision."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", default=",".join(zoo_names()))
    parser.add_argument("--precision", default="fp32,fp16")
    parser.add_argument("--batch", default="1")
    parser.add_argument("--dim", action="append", default=[], help="past=1023,4095")
    parser.add_argument("--quantised", default="", help="int4,fp8: what is derived of models, too")
    parser.add_argument("--what-ifs", action="store_true")
    parser.add_argument("--events", type=Path, help="a recording of the runs")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="then none is begun")
    asked = parser.parse_args()
    until = time.monotonic() + asked.seconds
    runtime = CudaRuntime()
    again = Again(runtime)
    batch_sizes = tuple(map(int, asked.batch.split(",")))
    models = ingested_models(
        asked.models.split(","),
        batch_sizes,
        points_of(asked.dim),
        derivations_of(asked.quantised),
    )
    recorded = Recorded(asked.recording, models)
    written: list[dict[str, Any]] = []
    if asked.out.exists():
        rows = json.loads(asked.out.read_text(encoding="utf-8"))
        written = [row for row in rows if not row["failure"]]
    known = {_key(row) for row in written}
    policies = POLICIES if asked.what_ifs else (FASTEST,)
    kept = asked.events and asked.events.exists()
    events = {_run_of(event): event for _, event in read_recording(asked.events)} if kept else {}
    systems = {bound.system_id for bound in recorded.bounds.values()}
    if asked.events and systems - {runtime.system().system_id}:
        parser.error(f"{asked.recording} is of another system, whose runs these wouldn't be")
    fresh = True
    for precision in cast(list[Precision], asked.precision.split(",")):
        for (model, content), policy in product(recorded.models, policies):
            if _key(_of(model, precision, policy)) in known:
                continue
            if time.monotonic() > until:
                return
            row, event = witnessed(runtime, again, recorded, model, content, precision, policy)
            if row["slowed"] and not fresh:
                os.execv(sys.executable, [sys.executable, "-m", __spec__.name, *sys.argv[1:]])
            fresh = False
            if asked.events and event and not row["slowed"]:
                events[_run_of(event)] = event
                write_recording(asked.events, list(events.values()))
            print(json.dumps(row), flush=True)
            written.append(row)
            asked.out.write_text(json.dumps(written, indent=1), encoding="utf-8")


def _of(model: ModelIngested, precision: Precision, policy: Policy) -> dict[str, Any]:
    return {
        "model": model.name,
        "batch": model.batch,
        "dims": dict(model.dims),
        "precision": precision,
        "policy": policy.name,
    }


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    """The same for the same run; rows of former files have no dimensions."""
    return (
        *(str(row[name]) for name in ("model", "batch", "precision", "policy")),
        json.dumps(row.get("dims", {}), sort_keys=True),
    )


def _run_of(event: Event) -> tuple[str, ...]:
    """The same for a run that is made again."""
    assert isinstance(event, ModelWitnessed)
    return event.model_id, event.system_id, event.precision, event.policy


def ingested_models(
    names: list[str],
    batch_sizes: tuple[int, ...],
    points: list[dict[str, int]],
    derived: tuple[Derivation, ...],
) -> list[tuple[ModelIngested, bytes]]:
    """Each model with its file's content, at these sizes, and what is derived of it."""
    return [
        (event, content)
        for name, dims, derivation in product(names, points, derived)
        for event, content in ingested(name, batch_sizes, dims, derivation)
        if isinstance(event, ModelIngested)
    ]


class Recorded:
    """The bounds that follow from a recording for these models, by model and precision,
    and programs that run as the bounds say.
    """

    def __init__(self, path: Path, models: list[tuple[ModelIngested, bytes]]) -> None:
        self.models = models
        self.bounds: dict[tuple[str, Precision], BoundUpdated] = {}
        analyzer = Analyzer()
        self._systems: dict[str, SystemMeasured] = {}
        self._measured: dict[Precision, dict[str, list[LayerMeasured]]] = defaultdict(
            lambda: defaultdict(list)
        )
        now = datetime.now(UTC)
        measurements = (
            event
            for _, event in read_recording(path)
            if isinstance(event, LayerMeasured | SystemMeasured)
        )
        # Models last: each measurement of a known model would compute its bounds anew.
        for event in (*measurements, *(model for model, _ in self.models)):
            if isinstance(event, LayerMeasured):
                self._measured[event.precision][event.fingerprint].append(event)
            if isinstance(event, SystemMeasured):
                self._systems[event.system.system_id] = event
            for bound in analyzer.handle(event, now):
                if bound.accounting == "full" and bound.fusion:
                    self.bounds[bound.architecture_id, bound.precision] = bound

    def program(
        self, model: ModelIngested, content: bytes, precision: Precision, policy: Policy
    ) -> tuple[Cover, Program | None]:
        """What the sequential bound under a policy adds up, and the same as a program; none if it
        lacks layers.
        """
        bound = self.bounds[model.architecture_id, precision]
        layers = {summary.fingerprint for summary in model.summaries}
        groups = {group.fingerprint for group in model.groups}
        measured = {
            fingerprint: [policy.of(event) for event in self._measured[precision][fingerprint]]
            for fingerprint in layers | groups
        }
        events = chain.from_iterable(measured.values())
        analyzer = under(policy, model, self._systems[bound.system_id], events)
        key = model.architecture_id, bound.system_id, precision
        cover = analyzer.cover(*key, "full", fusion=policy.fusion)
        if cover.lacking:
            return cover, None
        return cover, program_of(model, content, cover, measured, Limits())


def witnessed(
    runtime: CudaRuntime,
    again: "Again",
    recorded: Recorded,
    model: ModelIngested,
    content: bytes,
    precision: Precision,
    policy: Policy,
) -> tuple[dict[str, Any], ModelWitnessed | None]:
    """A row and its event: the bound under the policy, as recorded and timed again, the estimate,
    and the runs. The parallel bound and the estimate are those of the fastest calls.
    """
    bound = recorded.bounds[model.architecture_id, precision]
    cover, program = recorded.program(model, content, precision, policy)
    of = _of(model, precision, policy)
    if program is None:
        return of | {"failure": "layers have no time under this policy", "slowed": False}, None
    run_result = runtime.witness(program, precision)
    named = "" if policy == FASTEST else policy.name
    event = witnessed_event(
        run_result, model.model_id, bound, bound.event_id, named, cover.sequential_us
    )
    try:
        again_us = [again.times_us(step, precision) for step in program.steps if step.choice]
    except (LookupError, NoiseError) as error:  # recorded by an older runner, or too short to time
        return of | {"failure": str(error), "slowed": False}, event
    warm_us, interleaved_us, cold_us = (sum(steps_us) for steps_us in zip(*again_us, strict=True))
    parameters = sum(model.summaries[use.summary].parameters for use in model.layers)
    share = cold_share(parameters * PRECISIONS[precision].bytes, runtime.cache_bytes())
    bound_us, conversion_us = warm_us + cover.conversion_us, cover.interleaved_conversion_us
    row = of | {
        "layout": bound.layout,
        "bound_us": cover.sequential_us,
        "parallel_bound_us": bound.parallel_us,
        "attainable_us": bound.attainable_us,
        "bound_again_us": bound_us,
        "attainable_again_us": estimate_us(bound_us, interleaved_us, cold_us, conversion_us, share),
        "in_company_again_us": interleaved_us,
        "weights_cold_again_us": cold_us,
        "turning_us": cover.conversion_us,
        "turning_in_company_us": conversion_us,
        "cold_share": share,
        "sequential_us": run_result.sequential and run_result.sequential.median_us,
        "sequential_iqr_us": run_result.sequential and run_result.sequential.iqr_us,
        "read_ahead_us": run_result.read_ahead and run_result.read_ahead.median_us,
        "parallel_us": run_result.parallel and run_result.parallel.median_us,
        "calls": run_result.calls,
        "layout_changes": run_result.layout_changes,
        "error": run_result.error,
        "allowed_error": run_result.allowed_error,
        "unchecked": run_result.unchecked,
        "failure": run_result.failure,
        "same_system": bound.system_id == runtime.system().system_id,
        "slowed": run_result.slowed or runtime.slowed(),
    }
    return row, event


class OneLayout(Workspace):
    """A workspace for variants of one layout."""

    layout = ""

    def layouts(self, rank: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The one layout."""
        return ((name, order) for name, order in super().layouts(rank) if name == self.layout)


class Again:
    """Times variants once more, and each call only once."""

    def __init__(self, runtime: CudaRuntime) -> None:
        self._runtime = runtime
        self._stream = cupy.cuda.get_current_stream()  # A runtime makes its own the current one.
        self._timer = GraphTimer(self._stream)
        self._interleaved_timer = CudaInterleavedTimer(self._timer)
        self._memory = DeviceMemory(cupy)
        self._known: dict[tuple[Choice, str, Precision], tuple[float, float, float]] = {}

    def times_us(self, step: ProgramStep, precision: Precision) -> tuple[float, float, float]:
        """Warm, interleaved, and with weights cold; all without layout conversions."""
        assert step.choice is not None
        key = step.choice, step.fingerprint, precision
        if key not in self._known:
            workspace, candidate, scratch = self._candidate(step, precision)
            run = candidate.run
            batch = self._timer.replayed(run, CALLS)
            warm_us = median(batch.call_us() for _ in range(SAMPLES))
            interleaved_us = self._interleaved_timer.interleaved_us(run, warm_us)
            read = workspace.read(candidate.layout)
            cold_us = self._interleaved_timer.weights_cold_us(
                run, warm_us, read, candidate.result, scratch
            )
            self._known[key] = warm_us, median(interleaved_us), median(cold_us)
            cupy.get_default_memory_pool().free_all_blocks()
        return self._known[key]

    def _candidate(
        self, step: ProgramStep, precision: Precision
    ) -> tuple[Workspace, Candidate, Any | None]:
        assert step.choice is not None
        layer = retyped(step.layer, "fp32")
        workspace = OneLayout(
            lower(layer, random_inputs(layer, precision)), precision, self._memory
        )
        workspace.layout = step.choice.layout
        wanted = step.choice.algorithm, step.choice.layout
        for library in self._runtime.candidate_sources():
            if library.library == step.choice.library:
                for candidate in library.candidates(workspace):
                    if isinstance(candidate, Candidate) and (
                        (candidate.algorithm, candidate.layout) == wanted
                    ):
                        return workspace, candidate, workspace.last_scratch(candidate.prepare())
        raise LookupError(f"{step.layer.title()}: {step.choice} is offered no more")


if __name__ == "__main__":
    main()
