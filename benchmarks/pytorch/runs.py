"""Exported models, each run as its bound says on this machine; `benchmarks.pytorch.compare` starts
it after the bounds were measured. It needs neither an event log nor a store.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec.structs import replace

from benanza.looking.bound_program import program_of
from benanza_analyzer.attainable import cold_share, estimate_us
from benanza_analyzer.measurements import Best
from benanza_ingest.limits import Limits
from benanza_runner.reasons import short_reason
from benanza_runner.runtime import Runtime
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import LayerMeasured, ModelIngested, RunTimes
from benanza_schemas.layer import Precision
from benchmarks.pytorch.arguments import Arguments, export_path, parsed
from benchmarks.pytorch.bounds import countdown, ingested, opened, software
from benchmarks.pytorch.cells import us
from benchmarks.pytorch.covers import analyzer_of, by_layer, chosen
from benchmarks.pytorch.measurements import Measurements
from benchmarks.pytorch.rows import Bounded, Ran, Software, append
from benchmarks.pytorch.runs_report import is_wrong


def main() -> None:
    """Runs what the file has bounds and no runs of, model by model, and adds a row for each."""
    asked = parsed(__doc__ or "")
    left = countdown(asked.seconds)
    with TemporaryDirectory() as folder, opened(Path(folder), interleaved=True) as runtime:
        append(asked.file, Software("runs", software(runtime)))
        measured = Measurements(asked.layers_file(), runtime.system().system_id)
        for name, of_model in wanted(asked).items():
            export = export_path(asked.exports, name, asked.batch)
            for row in runs(runtime, measured, export, of_model, left):
                append(asked.file, row)
                print(f"{name} {row.precision}: {_shown(row)}", flush=True)


def wanted(asked: Arguments) -> dict[str, list[Bounded]]:
    """The bounds of each model in the file whose runs it lacks."""
    bounds = asked.last(Bounded)
    by_model: dict[str, list[Bounded]] = defaultdict(list)
    for key in asked.lacking(Ran):
        if key in bounds:
            by_model[bounds[key].model].append(bounds[key])
    return by_model


def runs(
    runtime: Runtime,
    measured: Measurements,
    export: Path,
    bounds: Sequence[Bounded],
    left: Callable[[], bool],
) -> Iterator[Ran]:
    """A row for each of these bounds of one model, whose layers are among the `measured`.

    Only whole bounds are run; the rows of the others say that they aren't. Once no time is left,
    nothing is begun, and what wasn't run is left out.
    """
    whole = []
    for bound in bounds:
        if bound.failed():
            yield _failure(bound, "it has no bound")
        elif bound.lacking:
            yield _failure(bound, "its bound lacks layers")
        else:
            whole.append(bound)
    if not whole or not left():
        return
    try:
        content = export.read_bytes()
        model, jobs = ingested(whole[0].model, content, whole[0].batch)
    except Exception as error:  # noqa: BLE001  # the other models are to be run all the same
        yield from (_failure(bound, _reason(error)) for bound in whole)
        return
    for bound in whole:
        if not left():
            return
        try:
            layers = (job.fingerprint for job in jobs)
            yield ran(
                runtime, model, content, bound.precision, measured.of(layers, bound.precision)
            )
        except Exception as error:  # noqa: BLE001  # so here
            yield _failure(bound, _reason(error))


def ran(
    runtime: Runtime,
    model: ModelIngested,
    content: bytes,
    precision: Precision,
    measured: Sequence[LayerMeasured],
) -> Ran:
    """The model, run as its bound by these measurements says, which are of the runtime's system at
    this precision. `content` are the bytes of its export. Raises `ModelError` as `program_of` does.
    """
    key = model.architecture_id, runtime.system().system_id, precision
    analyzer = analyzer_of(measured)
    analyzer.restore(model)
    cover = analyzer.cover(*key, "full", fusion=True)
    row = Ran(
        model=model.name, precision=precision, batch=model.batch, bound_us=cover.sequential_us
    )
    if cover.lacking:
        reason = "its layers were not measured on this system; take another file"
        return replace(row, bound_us=None, failure=reason)
    of_layer = by_layer(measured)
    times = [best for best, _ in chosen(cover, of_layer)]
    conversion_us = cover.interleaved_conversion_us
    share = _cold_share(model, precision, runtime.cache_bytes())
    run_result = runtime.witness(program_of(model, content, cover, of_layer, Limits()), precision)
    return replace(
        row,
        attainable_us=attainable_us(cover.sequential_us, times, conversion_us, share),
        sequential_us=_median_us(run_result.sequential),
        read_ahead_us=_median_us(run_result.read_ahead),
        parallel_us=_median_us(run_result.parallel),
        calls=run_result.calls,
        error=run_result.error,
        allowed_error=run_result.allowed_error,
        unchecked=run_result.unchecked,
        failure=run_result.failure,
    )


def attainable_us(
    bound_us: float, times: Sequence[Best], conversion_us: float, share: float
) -> float | None:
    """The attainable estimate from the times of the bound's calls, None if one wasn't measured
    interleaved or with cold weights. `conversion_us` is for interleaved layout conversions, `share`
    that of the weights which are cold.

    An analyzer only learns the size of the cache with a system's ceilings, which take minutes to
    measure; so this adds up as it does.
    """
    warm_us = math.fsum(best.interleaved_us for best in times)
    cold_us = math.fsum(best.weights_cold_us for best in times)
    if not times or not math.isfinite(warm_us + cold_us):
        return None
    return estimate_us(bound_us, warm_us, cold_us, conversion_us, share)


def _cold_share(model: ModelIngested, precision: Precision, cache_bytes: int) -> float:
    parameters = sum(model.summaries[use.summary].parameters for use in model.layers)
    return cold_share(parameters * PRECISIONS[precision].bytes, cache_bytes)


def _median_us(times: RunTimes | None) -> float | None:
    return None if times is None else times.median_us


def _failure(bound: Bounded, reason: str) -> Ran:
    return Ran(model=bound.model, precision=bound.precision, batch=bound.batch, failure=reason)


def _reason(error: Exception) -> str:
    return short_reason(f"{type(error).__name__}: {error}")


def _shown(row: Ran) -> str:
    if row.sequential_us is None or row.bound_us is None:
        return row.failure
    ahead_us, parallel_us = us(row.read_ahead_us), us(row.parallel_us)
    return (
        f"bound {row.bound_us:.1f} µs, in order {row.sequential_us:.1f} µs, with prefetching "
        f"{ahead_us} µs, on streams {parallel_us} µs{', wrong result' * is_wrong(row)}"
    )


if __name__ == "__main__":
    main()
