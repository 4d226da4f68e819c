"""Bounds of exported models, measured layer by layer on this machine; `benchmarks.pytorch.compare`
starts it. It needs neither an event log nor a store. Measured layers are kept beside the results.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_runner import nvidia
from benanza_runner.core import Runner, in_tf32
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.cuda.candidate import NO_LIBRARY
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.reasons import short_reason
from benanza_runner.runtime import Runtime
from benanza_runner.runtimes import ONNX_RUNTIME, Opened, cuda_workers
from benanza_schemas.events import (
    BenchmarkRequested,
    BoundUpdated,
    LayerMeasured,
    LayerSeen,
    ModelIngested,
    ModelPublished,
    event_id,
)
from benanza_schemas.layer import Precision
from benchmarks.pytorch.arguments import export_path, failure_path, parsed
from benchmarks.pytorch.covers import analyzer_of, by_layer, chosen
from benchmarks.pytorch.measurements import Measurements
from benchmarks.pytorch.rows import Bounded, Lacking, Software, append

LAYER_SECONDS = 60.0


def main() -> None:
    """Measures what the file lacks, model by model, and adds a row for each precision."""
    asked = parsed(__doc__ or "")
    left = countdown(asked.seconds)
    wanted: dict[str, list[Precision]] = {}
    for name, precision, _ in asked.lacking(Bounded):
        wanted.setdefault(name, []).append(precision)
    interleaved = "runs" in asked.sides
    with TemporaryDirectory() as folder, opened(Path(folder), interleaved=interleaved) as runtime:
        append(asked.file, Software("bounds", software(runtime)))
        measured = Measurements(asked.layers_file(), runtime.system().system_id)
        began = time.perf_counter()
        for name, precisions in wanted.items():
            if not left():
                break
            path = export_path(asked.exports, name, asked.batch)
            rows: Iterable[Bounded] = ()
            if path.exists():
                rows = bounds(
                    runtime, measured, name, path.read_bytes(), precisions, asked.batch, left
                )
            elif failure_path(path).exists():
                reason = failure_path(path).read_text(encoding="utf-8")
                rows = (_failure(name, precision, asked.batch, reason) for precision in precisions)
            else:
                print(f"{name}: there is no {path}", flush=True)
            for row in rows:
                append(asked.file, row)
                shown = row.failure if row.bound_us is None else f"bound {row.bound_us:.1f} µs"
                print(f"{name} {row.precision}: {shown}", flush=True)
        print(speed(measured, time.perf_counter() - began))


def speed(measured: Measurements, seconds: float) -> str:
    """How many layers a second were measured, and for which share of the time one had the GPU."""
    share = measured.device_seconds / seconds
    rate = f"{measured.added / seconds:.1f} layers a second"
    return f"{measured.added} layers in {seconds:.0f} s: {rate}, the GPU in use for {share:.0%}"


def opened(folder: Path, *, interleaved: bool) -> Opened:
    """The GPU's runtime, which keeps its journals in this folder. `interleaved` is that of
    `CudaRuntime`.

    If there is no GPU, it is the CPU's, to try the rest out. Raises `SystemExit` if there is a GPU
    that can't be used.
    """
    unavailable = why_unavailable()
    if unavailable and nvidia.gpu().name:
        raise SystemExit(f"the GPU runtime {unavailable}")
    limits = WorkerLimits(layer_seconds=LAYER_SECONDS)
    if unavailable:
        return IsolatedRuntime(ONNX_RUNTIME, {"device": "cpu"}, limits)
    return cuda_workers(folder, limits, interleaved=interleaved)


def bounds(
    runtime: Runtime,
    measured: Measurements,
    name: str,
    content: bytes,
    precisions: Sequence[Precision],
    batch: int,
    left: Callable[[], bool],
) -> Iterator[Bounded]:
    """The bound of a model at each precision. Its measurements are added to `measured`.

    Once no time is left, nothing more is measured, and bounds that lack something are left out.
    """
    try:
        model, jobs = ingested(name, content, batch)
    except Exception as error:  # noqa: BLE001  # the other models are to be measured all the same
        reason = short_reason(f"{type(error).__name__}: {error}")
        yield from (_failure(name, precision, batch, reason) for precision in precisions)
        return
    for precision in precisions:
        runner = Runner(runtime, [precision], _now)
        if precision == "tf32":
            _share(jobs, measured)
        lacking = [job for job in jobs if (job.fingerprint, precision) not in measured]
        runner.expect(lacking)
        for job in lacking:
            if not left():
                return
            for event in runner.handle(job):
                measured.add(event)
        try:
            layers = (job.fingerprint for job in jobs)
            yield bounded(model, precision, measured.of(layers, precision))
        except Exception as error:  # noqa: BLE001  # so here
            yield _failure(name, precision, batch, short_reason(f"{type(error).__name__}: {error}"))


def _share(jobs: Iterable[BenchmarkRequested], measured: Measurements) -> None:
    """Takes what was measured in float32 for TF32, where it is the same."""
    for job in jobs:
        if (job.fingerprint, "tf32") not in measured:
            for known in measured.of([job.fingerprint], "fp32"):
                if shared := in_tf32(job, known):
                    measured.add_again(shared)


def ingested(
    name: str, content: bytes, batch: int
) -> tuple[ModelIngested, list[BenchmarkRequested]]:
    """The model's layers, and a job for each layer and group. Raises `ModelError`."""
    published = ModelPublished(
        event_id=event_id("ModelPublished", name),
        name=name,
        sha256=sha256(content).hexdigest(),
        batch_sizes=(batch,),
    )
    events = ingest(published, content, Limits())
    (model,) = (event for event in events if isinstance(event, ModelIngested))
    jobs = [
        BenchmarkRequested(
            event_id=event_id("BenchmarkRequested", event.fingerprint),
            fingerprint=event.fingerprint,
            layer=event.layer,
        )
        for event in events
        if isinstance(event, LayerSeen)
    ]
    return model, jobs


def bounded(
    model: ModelIngested, precision: Precision, measured: Sequence[LayerMeasured]
) -> Bounded:
    """The bound that follows from these measurements, which are of the model at this precision."""
    analyzer = analyzer_of(measured)
    moved = analyzer.handle(model, _now())
    fused = [bound for bound in moved if bound.accounting == "full" and bound.fusion]
    if not fused:
        return _failure(model.name, precision, model.batch, "nothing of it was measured")
    (bound,) = fused
    cover = analyzer.cover(bound.architecture_id, bound.system_id, precision, "full", fusion=True)
    taken = chosen(cover, by_layer(measured))
    return Bounded(
        model=model.name,
        precision=precision,
        batch=model.batch,
        bound_us=bound.sequential_us,
        spread_us=bound.sequential_spread_us,
        parallel_us=bound.parallel_us,
        layout=bound.layout,
        calls=sum(variant.library != NO_LIBRARY for _, variant in taken),
        counted=len(bound.measured) + sum(len(missing.layers) for missing in bound.missing),
        lacking=tuple(_lacking(model, bound)),
    )


def _lacking(model: ModelIngested, bound: BoundUpdated) -> Iterator[Lacking]:
    for missing in bound.missing:
        summaries = (model.summaries[model.layers[place].summary] for place in missing.layers)
        yield Lacking(missing.reason, dict(Counter(summary.op for summary in summaries)))


def _failure(name: str, precision: Precision, batch: int, reason: str) -> Bounded:
    return Bounded(model=name, precision=precision, batch=batch, failure=reason)


def countdown(seconds: float) -> Callable[[], bool]:
    """A function that says whether these seconds, from now on, are not over."""
    until = time.monotonic() + seconds
    return lambda: time.monotonic() < until


def software(runtime: Runtime) -> dict[str, str]:
    """The device, and versions of what the runtime runs with."""
    system = runtime.system()
    versions = {
        "device": system.accelerator or system.cpu,
        "driver": system.driver,
        "cuda": system.cuda,
        "cudnn": system.cudnn,
        "cublas": system.cublas,
        **system.libraries,
    }
    return {name: version for name, version in versions.items() if version}


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    main()
