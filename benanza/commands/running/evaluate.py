"""`benanza evaluate`: a model under load."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from benanza.commands.options import (
    FAILED,
    PARTIAL,
    FiniteNumber,
    Format,
    Model,
    data_option,
    dim_option,
    format_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.evaluating.request import (
    MOST_AT_ONCE,
    MOST_PER_S,
    MOST_S,
    MOST_US,
    SCENARIOS,
    EvaluationRequest,
    Scenario,
    Seeds,
)
from benanza.render.table import console
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

if TYPE_CHECKING:
    from benanza.spans.output import TraceOutput

BESIDE_SPEC = {"spec", "record", "trace", "data", "output"}
"""Options that a specification doesn't have."""

OF_SCENARIOS: dict[str, Scenario] = {
    "max_wait_ms": "server",
    "limit_ms": "server",
    "rate_per_s": "server",
    "streams": "multi-stream",
}
"""Options that mean something in one scenario alone."""


def check_scenario(ctx: click.Context, scenario: Scenario) -> None:
    """Raises `UsageError` if an option was given that means nothing in this scenario."""
    for option in ctx.command.params:
        of = OF_SCENARIOS.get(option.name or "", scenario)
        is_given = ctx.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT
        if of != scenario and is_given:
            raise click.UsageError(f"{option.opts[0]} needs --scenario {of}", ctx)


@click.command()
@click.argument("model", type=Model(), required=False)
@click.option(
    "--spec",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Repeat the pipeline that this file specifies, as `benanza pipeline` writes it, and say "
    "what differs.",
)
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --spec: also writes the specification with what is here and what came of it.",
)
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Looks into a few more requests afterwards, and writes a trace for Perfetto.",
)
@click.option(
    "--framework",
    default="onnxruntime",
    metavar="NAME",
    help="What runs the model: onnxruntime, openvino, pytorch, or one that another package brings.",
    show_default=True,
)
@click.option(
    "--configuration",
    default="",
    metavar="NAME",
    help="What is set in it, as `benanza profile --all-configurations` names it; by default "
    "nothing is.",
)
@click.option(
    "--scenario",
    type=click.Choice(SCENARIOS),
    default="single-stream",
    help="As MLPerf has them: one request after the other; requests of several samples; requests "
    "at random times; all samples at once.",
    show_default=True,
)
@click.option(
    "--precision",
    type=click.Choice(list(PRECISIONS)),
    default="fp32",
    show_default=True,
)
@click.option(
    "--duration",
    "duration_s",
    type=FiniteNumber(min_open=True, most=MOST_S),
    default=10.0,
    help="For at least so many seconds, and as many requests as LoadGen's checks need.",
    show_default=True,
)
@click.option(
    "--max-batch",
    type=click.IntRange(1, MOST_AT_ONCE),
    default=8,
    help="Up to so many samples run at once.",
    show_default=True,
)
@click.option(
    "--max-wait-ms",
    type=FiniteNumber(most=MOST_US / 1_000),
    default=2.0,
    help="For so long the server waits for a batch to fill.",
    show_default=True,
)
@click.option(
    "--limit-ms",
    type=FiniteNumber(min_open=True, most=MOST_US / 1_000),
    help="Within so long the server must answer 99 of 100 requests; by default ten times what one "
    "takes alone, or longer where it waits for batches to fill.",
)
@click.option(
    "--rate",
    "rate_per_s",
    type=FiniteNumber(min_open=True, most=MOST_PER_S),
    help="The server's requests a second; by default the greatest rate that keeps the limit is "
    "searched.",
)
@click.option(
    "--streams",
    type=click.IntRange(1, MOST_AT_ONCE),
    default=8,
    help="Samples in a request of multi-stream.",
    show_default=True,
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    help="Of LoadGen's choice of samples and of the times of requests.",
    show_default=True,
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="So many times, each loaded anew: also shows medians, and how far the runs are apart.",
    show_default=True,
)
@dim_option
@data_option
@format_option
@click.pass_context
def evaluate(
    ctx: click.Context,
    *,
    model: str | None,
    spec: Path | None,
    record: Path | None,
    trace: Path | None,
    framework: str,
    configuration: str,
    scenario: Scenario,
    precision: Precision,
    duration_s: float,
    max_batch: int,
    max_wait_ms: float,
    limit_ms: float | None,
    rate_per_s: float | None,
    streams: int,
    seed: int,
    repeat: int,
    dims: tuple[tuple[str, int], ...],
    data: Path | None,
    output: Format,
) -> None:
    """Runs MODEL in a framework under load.

    MLPerf's LoadGen makes the requests, in one of its scenarios. This shows latencies and
    throughput, queueing apart from computing, and where the model's bound on this device is known,
    how far from it they are and what stands between. Inputs are made up.

    With --spec it runs a pipeline of pre-processing, model and post-processing on its data set, and
    says accuracy, speed, and what differs from what the file specifies and records.

    With --trace, the run is one trace of requests and their steps. What the framework calls, and
    what that starts on a GPU, is looked into in runs of their own, and what looking cost is said.
    The standard variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT, have it exported.

    With --repeat, exit statuses are those of the worst run.

    Exit status: 0 the pipeline is as specified, and LoadGen calls the run valid; 1 nothing was
    measured, or the pipeline differs; 3 LoadGen calls the run invalid, or samples failed.

    \b
    Examples:
      benanza run zoo:shufflenet && benanza evaluate zoo:shufflenet
      benanza evaluate model.onnx --scenario server --limit-ms 15
      benanza evaluate model.onnx --scenario server --rate 200 --max-batch 16
      benanza evaluate model.onnx --scenario offline --framework openvino
      benanza evaluate model.onnx --framework pytorch --configuration 'CUDA graph'
      benanza evaluate model.onnx --scenario multi-stream --format json
      benanza evaluate model.onnx --scenario offline --repeat 5
      benanza evaluate model.onnx --trace model.json
      benanza evaluate --spec pipeline.toml --record recorded.toml
    """
    from benanza.evaluating.command import evaluate as run_evaluation
    from benanza.evaluating.repeated import repeated
    from benanza.render.load.evaluation import print_evaluation, print_repeated
    from benanza.spans.output import TraceOutput

    traces = TraceOutput(trace, os.environ)
    if spec is not None:
        _repeat(ctx, spec, record, settings_of(data), output, traces)
        return
    if model is None or record is not None:
        raise click.UsageError("name a MODEL, or --spec with or without --record", ctx)
    check_scenario(ctx, scenario)
    request = EvaluationRequest(
        model=model,
        framework=framework,
        configuration=configuration,
        precision=precision,
        scenario=scenario,
        dims=dict(dims),
        seeds=Seeds(seed, seed, seed),
        duration_s=duration_s,
        max_batch=max_batch,
        max_wait_us=1_000 * max_wait_ms,
        limit_us=None if limit_ms is None else 1_000 * limit_ms,
        rate_per_s=rate_per_s,
        streams=streams,
    )
    tell = traces.tell if traces.is_asked() else None
    settings = settings_of(data)
    runs = [run_evaluation(request, settings, tell=tell) for _ in range(repeat)]
    found = repeated(runs)
    if output == "json":
        print_json(runs[0] if repeat == 1 else found)
    elif repeat == 1:
        print_evaluation(console(sys.stdout), runs[0])
    else:
        print_repeated(console(sys.stdout), found)
    _finish(traces)
    measured = [run.evaluation.measured for run in runs]
    if None in measured:
        ctx.exit(FAILED)
    if not all(each.validity.valid for each in measured if each):
        ctx.exit(PARTIAL)


def _repeat(
    ctx: click.Context,
    file: Path,
    record: Path | None,
    settings: Settings,
    output: Format,
    traces: "TraceOutput",
) -> None:
    from benanza.pipelines.found import moved
    from benanza.pipelines.reading import read_pipeline, write_pipeline
    from benanza.pipelines.repeat import repeat
    from benanza.render.answers.pipeline import print_pipeline
    from benanza.writable import check_writable

    given = [
        name
        for name in ctx.params
        if name not in BESIDE_SPEC and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if given:
        raise click.UsageError("--spec says what to run; beside it give only --record", ctx)
    if record is not None:
        check_writable(record)
    if traces.path is not None and read_pipeline(file).scenario is None:
        raise BenanzaError(f"{file} has no [scenario], whose run --trace is of; add one")
    run = repeat(file, settings, traces.tell if traces.is_asked() else None)
    if record is not None:
        write_pipeline(moved(run.here, file.parent, record.parent), record)
    if output == "json":
        print_json(run.result)
    else:
        print_pipeline(console(sys.stdout), run.result)
    _finish(traces)
    load = run.result.under_load
    measured = load.evaluation.measured if load else None
    if not run.result.agrees or (load and not measured):
        ctx.exit(FAILED)
    if run.result.failed or (measured and not measured.validity.valid):
        ctx.exit(PARTIAL)


def _finish(traces: "TraceOutput") -> None:
    """Writes the traces, says what they have, and exports them. The evaluation stands without a
    collector.
    """
    from benanza.render.load.trace import trace_lines

    traces.write()
    for told in traces.told:
        for line in trace_lines(told):
            click.echo(line, err=True)
    try:
        traces.export()
    except BenanzaError as error:
        click.echo(f"warning: {error}", err=True)
