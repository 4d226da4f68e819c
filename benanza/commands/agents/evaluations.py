"""`benanza evaluations`: what agents are asked to evaluate, and what came of it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benanza.agents.results import GIGABYTE, RequestedEvaluation, RequestedEvaluations
from benanza.commands.exporting import export_evaluation
from benanza.commands.options import (
    FAILED,
    PARTIAL,
    FiniteNumber,
    Format,
    KnownModel,
    data_option,
    dim_option,
    format_option,
    model_argument,
    print_json,
)
from benanza.commands.running.evaluate import check_scenario, evaluate
from benanza.commands.startup import settings_of
from benanza.evaluating.request import EvaluationRequest, Seeds
from benanza.render.answers.agents import print_evaluations, print_requested
from benanza.render.table import console
from benanza_backbone.settings import Settings, kafka_of
from benanza_schemas.events import Constraints

if TYPE_CHECKING:
    from benanza_backbone.event_log.event_log import EventLog

timeout_option = click.option(
    "--timeout",
    "timeout_s",
    type=FiniteNumber(min_open=True),
    metavar="SECONDS",
    help="How long to wait at most.",
)


@click.group()
def evaluations() -> None:
    """What agents are asked to evaluate, and what came of it.

    All but changes need BENANZA_KAFKA. benanza agents lists who could do it.

    \b
    Examples:
      benanza evaluations request zoo:squeezenet --scenario server --wait
      benanza evaluations list
      benanza evaluations wait 3f2a91c0
      benanza evaluations changes zoo:squeezenet
    """


@evaluations.command()
@model_argument
@click.option("--versions", default="", metavar="RANGE", help="Of the framework: '>=1.20,<2'.")
@click.option("--device", default="", metavar="PATTERN", help="What is in the device's name: H?00.")
@click.option(
    "--memory",
    "memory_gb",
    type=FiniteNumber(),
    default=0.0,
    metavar="GB",
    help="What must be free of the device's memory, in gigabytes.",
)
@dim_option
@click.option("--wait", "waits", is_flag=True, help="Waits for all results, and shows them.")
@timeout_option
@format_option
@click.pass_context
def request(
    ctx: click.Context,
    /,
    *,
    model: str,
    versions: str,
    device: str,
    memory_gb: float,
    dims: tuple[tuple[str, int], ...],
    waits: bool,
    timeout_s: float | None,
    output: Format,
    **load: Any,
) -> None:
    """Has MODEL evaluated on every system that an agent now is at work on and that meets all of
    --framework, --versions, --device and --memory.

    Each system does it once, whichever of its agents does. Where no agent can do it, nothing is
    asked, and what each of them lacks is said.

    Exit status: 0 asked, or done; 1 it can't be asked, or failed on a system; 3 some results are
    still to come.

    \b
    Examples:
      benanza evaluations request zoo:squeezenet --wait
      benanza evaluations request model.onnx --framework pytorch --device H200
      benanza evaluations request model.onnx --versions '>=1.23,<2' --memory 8
    """
    from benanza.agents.request import request_evaluation

    check_scenario(ctx, load["scenario"])
    settings = settings_of(None)
    constraints = Constraints(
        framework=load["framework"],
        device=device,
        versions=versions,
        memory_bytes=round(memory_gb * GIGABYTE),
    )
    asked = request_evaluation(_under_load(model, dict(dims), **load), constraints, settings)
    if output == "text":
        print_requested(console(sys.stdout), asked)
    if waits:
        _wait(ctx, settings, asked.evaluation_id, timeout_s, output)
    elif output == "json":
        print_json(asked)


# They are those of `benanza evaluate`, whose load is the same.
LOAD = (
    *("framework", "configuration", "scenario", "precision", "duration_s", "max_batch"),
    *("max_wait_ms", "limit_ms", "rate_per_s", "streams", "seed"),
)
request.params[1:1] = [option for option in evaluate.params if option.name in LOAD]


def _under_load(
    model: str,
    dims: dict[str, int],
    *,
    seed: int,
    max_wait_ms: float,
    limit_ms: float | None,
    **others: Any,
) -> EvaluationRequest:
    return EvaluationRequest(
        model=model,
        dims=dims,
        seeds=Seeds(seed, seed, seed),
        max_wait_us=1_000 * max_wait_ms,
        limit_us=None if limit_ms is None else 1_000 * limit_ms,
        **others,
    )


@evaluations.command("list")
@click.argument("identity", metavar="[ID]", default="")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    help="The newest so many.",
    show_default=True,
)
@format_option
def list_(*, identity: str, limit: int, output: Format) -> None:
    """How far evaluations are on each system, the newest first; of one by the begin of its ID.

    Waiting, running, done, failed; or orphaned, where no agent of the system is there any more.
    """
    from benanza.agents.progress import evaluations as find_evaluations

    with _log(settings_of(None)) as log:
        found = find_evaluations(log, identity, limit)
    if output == "json":
        print_json(found)
    else:
        print_evaluations(console(sys.stdout), found)


@evaluations.command()
@click.argument("identity", metavar="ID")
@timeout_option
@format_option
@click.pass_context
def wait(ctx: click.Context, *, identity: str, timeout_s: float | None, output: Format) -> None:
    """Waits for all results of an evaluation, and shows them.

    The standard variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT, have the request
    exported as a trace, of which what agents export is a part.

    Exit status: 0 done; 1 it failed on a system; 3 some results are still to come.
    """
    _wait(ctx, settings_of(None), identity, timeout_s, output)


@evaluations.command()
@click.argument("model", type=KnownModel(), default="")
@data_option
@format_option
def changes(*, model: str, data: Path | None, output: Format) -> None:
    """What changed in evaluations of MODEL, or of all models, since the system before on the same
    device: another version of the framework, a driver or a library.

    Medians of all runs with the same options are compared, and what is within their spread isn't
    called a change.

    \b
    Examples:
      benanza evaluations changes
      benanza evaluations changes zoo:squeezenet --format json
    """
    from benanza.agents.changes import evaluation_changes
    from benanza.render.load.changes import print_changes

    found = evaluation_changes(settings_of(data), model)
    if output == "json":
        print_json(found)
    else:
        print_changes(console(sys.stdout), found)


def _wait(
    ctx: click.Context, settings: Settings, identity: str, timeout_s: float | None, output: Format
) -> None:
    from benanza.agents.progress import wait as wait_for

    said: set[str] = set()

    def say(evaluation: RequestedEvaluation) -> None:
        """What it waits for, once each."""
        for on in evaluation.systems:
            if on.why and on.state in ("waiting", "orphaned") and on.why not in said:
                said.add(on.why)
                click.echo(f"{on.device or on.system_id}: {on.why}", err=True)

    with _log(settings) as log:
        over = wait_for(log, identity, say, timeout_s)
    if output == "json":
        print_json(over)
    else:
        print_evaluations(console(sys.stdout), RequestedEvaluations(evaluations=(over,)))
    export_evaluation(settings, over.evaluation_id)
    if any(on.state == "failed" for on in over.systems):
        ctx.exit(FAILED)
    if not over.is_over:
        ctx.exit(PARTIAL)


@contextmanager
def _log(settings: Settings) -> "Iterator[EventLog]":
    from benanza.installation.configured import configured_log

    kafka_of(settings)
    with configured_log(settings) as log:
        yield log
