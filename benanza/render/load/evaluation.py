"""A model under load, for people."""

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.evaluating.repeated import RepeatedEvaluation
from benanza.evaluating.results import EvaluatedModel, Evaluation, MeasuredLoad, Percentiles
from benanza.render.table import Column, html, printable, table
from benanza.render.units import TimeUnit, plural, time_unit


def print_evaluation(console: Console, model: EvaluatedModel) -> None:
    """Prints what came of it."""
    for part in _shown(model, plain=not console.is_terminal):
        console.print(part)


def print_repeated(console: Console, found: RepeatedEvaluation) -> None:
    """Prints what came of the run in the middle, and how far all of them are apart."""
    print_evaluation(console, found.middle)
    if found.figures:
        console.print(_repeated(found, plain=not console.is_terminal))
    runs = [run.evaluation for run in found.runs]
    failed = [run for run in runs if run.measured is None]
    if failed and found.figures:
        console.print(Text(printable(f"{len(failed)} of {len(runs)} failed: {failed[0].failure}")))
    invalid = sum(not run.measured.validity.valid for run in runs if run.measured)
    if invalid:
        console.print(Text(f"LoadGen calls {invalid} of {len(runs)} invalid"))


def evaluation_html(model: EvaluatedModel) -> str:
    """The same for a notebook."""
    return html(list(_shown(model, plain=False)))


def _shown(model: EvaluatedModel, *, plain: bool) -> Iterator[RenderableType]:
    evaluation, measured = model.evaluation, model.evaluation.measured
    yield Text(printable(_title(evaluation)))
    if measured is None:
        yield Text(printable(f"failed: {evaluation.failure}"))
        return
    yield Text(_validity(measured))
    yield Text(_throughput(model, measured))
    if evaluation.limit_us is not None:
        yield Text(_limit(evaluation, measured, evaluation.limit_us))
    yield _latencies(evaluation, measured, plain=plain)
    if model.latency_ratio is not None and model.bound_us is not None:
        unit = time_unit([model.bound_us])
        yield Text(
            f"the bound of a request is {unit.format(model.bound_us)} {unit.name}; half of the "
            f"requests take up to {model.latency_ratio:.2f} times as long"
        )
    if model.parts:
        yield _parts(model, plain=plain)
    yield from (Text(printable(line)) for line in _notes(model))


def _title(evaluation: Evaluation) -> str:
    request = evaluation.request
    version = evaluation.system.libraries.get(evaluation.system.runtime, "")
    device = evaluation.system.accelerator or evaluation.system.cpu
    return (
        f"{evaluation.name}, {request.precision}, {request.scenario} in {request.framework} "
        f"{version} on {device}"
    )


def _validity(measured: MeasuredLoad) -> str:
    """LoadGen's verdict."""
    validity = measured.validity
    checks = ", ".join(f"{name} {'yes' if met else 'NO'}" for name, met in validity.checks.items())
    said = "VALID" if validity.valid else "INVALID"
    reason = f": {validity.reason}" if validity.reason else ""
    return f"LoadGen: {said} ({checks}){reason}"


def _throughput(model: EvaluatedModel, measured: MeasuredLoad) -> str:
    queries = f"{measured.queries:,} {'query' if measured.queries == 1 else 'queries'}"
    found = f"{plural(measured.samples, 'sample')} in {queries}: {measured.per_s:,.1f}/s"
    if model.bound_per_s is None or model.throughput_share is None:
        return found
    return (
        f"{found}, {model.throughput_share:.0%} of the bound's {model.bound_per_s:,.1f}/s at batch "
        f"size {model.bound_per_s_batch}"
    )


def _limit(evaluation: Evaluation, measured: MeasuredLoad, limit_us: float) -> str:
    request, unit = evaluation.request, time_unit([limit_us])
    limit = f"{100 * request.percentile:.7g}% within {unit.format(limit_us)} {unit.name}"
    per_s = evaluation.rate_per_s or 0.0
    rate = f"{per_s:,.1f} requests/s" if per_s >= 1 else f"{per_s:.4g} requests/s"
    if not evaluation.searched:
        return f"at {rate}; asked for: {limit}"
    runs = plural(len(evaluation.tried), "run")
    if measured.validity.valid:
        return f"{rate} keep the limit, {limit} ({runs})"
    lowest = f"{rate}, the lowest that was tried for the whole duration"
    return f"{lowest}: none was valid; {limit} ({runs})"


def _latencies(evaluation: Evaluation, measured: MeasuredLoad, *, plain: bool) -> Table:
    rows: list[tuple[str, Percentiles]] = []
    if measured.latency is not None:
        rows.append(("latency", measured.latency))
    if evaluation.simulated is not None:
        rows.append(("as simulated", evaluation.simulated))
    if evaluation.request.scenario == "server":
        rows.append(("queueing", measured.queueing))
    rows.append(("computing", measured.computing))
    unit = time_unit(times.p50_us for _, times in rows)
    columns = (
        Column(unit.name, "left"),
        *map(Column, ("mean", "p50", "p90", "p99", "p99.9")),
    )
    return table(columns, [(name, *_cells(times, unit)) for name, times in rows], plain=plain)


def _repeated(found: RepeatedEvaluation, *, plain: bool) -> Table:
    measured = [run for run in found.runs if run.evaluation.measured is not None]
    columns = (
        Column(f"of {plural(len(measured), 'run')}", "left"),
        *map(Column, ("median", "least", "greatest", "spread")),
    )
    unit = time_unit(each.median for each in found.figures if each.name != "per_s")
    rows = []
    for each in found.figures:
        in_time = each.name != "per_s"
        shown = unit.format if in_time else "{:,.1f}".format
        name = f"{each.name.removesuffix('_us')}, {unit.name}" if in_time else "samples/s"
        values = map(shown, (each.median, each.least, each.greatest))
        rows.append((name, *values, f"{each.spread:.1%}"))
    return table(columns, rows, plain=plain)


def _cells(times: Percentiles, unit: TimeUnit) -> list[str]:
    found = (times.mean_us, times.p50_us, times.p90_us, times.p99_us, times.p999_us)
    return list(map(unit.format, found))


def _parts(model: EvaluatedModel, *, plain: bool) -> Table:
    """What a request's mean latency consists of, and of the framework's part its losses."""
    unit = time_unit(part.us for part in model.parts if part.kind == "the framework")
    rows: list[tuple[str, str]] = []
    for part in model.parts:
        rows.append((part.kind, unit.format(part.us)))
        if part.kind == "the framework":
            rows += [(f"  profiled: {loss.kind}", unit.format(loss.us)) for loss in model.losses]
    columns = (Column("of the mean latency", "left"), Column(unit.name))
    return table(columns, rows, plain=plain)


def _notes(model: EvaluatedModel) -> Iterator[str]:
    evaluation = model.evaluation
    if evaluation.not_batched:
        yield f"batches: {evaluation.not_batched}"
    for name, figure in evaluation.metrics.items():
        yield f"{name}: {figure:.4g}"
    if model.without_bound:
        yield model.without_bound
    if evaluation.slowed_by:
        yield f"slowed down by {evaluation.slowed_by}: repeat it on an idle machine"
