"""`benanza serve`: one service."""

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING

import click

from benanza.commands.options import RuntimeName, precision_option
from benanza.commands.running.serve_weights import weights
from benanza.commands.startup import service_settings
from benanza.services import SERVICES
from benanza_backbone.settings import Settings, kafka_of
from benanza_schemas.consumer_groups import AGENT, ANALYZER, DEDUPE, INGEST, RUNNER
from benanza_schemas.layer import Precision

if TYPE_CHECKING:
    from benanza_backbone.service.process import Started


@click.group()
def serve() -> None:
    """One service, until SIGTERM or Ctrl-C.

    All but weights work over Kafka, and need BENANZA_KAFKA. The first signal lets it finish what
    it is at; a second one ends it at once. The address that it prints leads to a page on how it
    is; /healthz, /readyz and /metrics beside it are for programs. BENANZA_METRICS_PORT is its
    port.

    \b
    Examples:
      benanza serve ingest
      benanza serve runner --precision fp32,fp16
      BENANZA_CLICKHOUSE=clickhouse://localhost:8123 benanza serve analyzer
      benanza serve weights --memory 16GB
    """


@serve.command()
@click.pass_context
def ingest(ctx: click.Context) -> None:
    """Models to graphs and layers."""
    _run(ctx, INGEST, settings_of_service())


@serve.command()
@click.pass_context
def dedupe(ctx: click.Context) -> None:
    """Layers to jobs, each unique layer once."""
    _run(ctx, DEDUPE, settings_of_service())


@serve.command()
@precision_option
@click.option(
    "--runtime",
    type=RuntimeName(),
    default="auto",
    help="What measures the layers; auto takes the best that works here.",
    show_default=True,
)
@click.option(
    "--gpus",
    help="A runner for each of these GPUs: all, or numbers and UUIDs, separated by commas. It is "
    "started again if it ends. The first answers on BENANZA_METRICS_PORT, the others on the next "
    "ports.",
)
@click.pass_context
def runner(
    ctx: click.Context, *, precisions: tuple[Precision, ...], runtime: str, gpus: str | None
) -> None:
    """Jobs to results: every unique layer, measured on this system.

    Runners of one system share its jobs. One of a new system begins with the first job there
    ever was.

    \b
    Examples:
      benanza serve runner --precision fp32,fp16
      benanza serve runner --gpus all
    """
    from benanza_runner.runtimes import AUTO, open_runtime

    settings = settings_of_service()
    if gpus is not None:
        from benanza.running.each_gpu import named_gpus, serve_each

        # On a machine whose GPUs can't be used, `auto` would measure the CPU many times over.
        on = ["--runtime", "cuda" if runtime == AUTO else runtime]
        arguments = ["serve", "runner", "--precision", ",".join(precisions), *on]
        ctx.exit(serve_each(named_gpus(gpus), arguments, settings.metrics_port))
    with open_runtime(runtime, settings) as opened:
        _run(ctx, RUNNER, settings, runtime=opened, precisions=precisions)


@serve.command()
@click.option(
    "--framework",
    "frameworks",
    multiple=True,
    metavar="NAME",
    help="A framework to evaluate in; by default all that run here. May be given several times.",
)
@click.pass_context
def agent(ctx: click.Context, *, frameworks: tuple[str, ...]) -> None:
    """Evaluations to results, on this machine's device.

    It says on the topic agents what it has, and does what benanza evaluations request asks of
    systems such as this one. Agents of one system share that; the runners of this machine wait
    while it is at it.

    \b
    Examples:
      benanza serve agent
      benanza serve agent --framework onnxruntime
    """
    from benanza.agents.serving.this_machine import this_machine

    settings = settings_of_service()
    _run(ctx, AGENT, settings, has=this_machine(frameworks))


@serve.command()
@click.pass_context
def analyzer(ctx: click.Context) -> None:
    """Results to bounds, and all that people ask for into ClickHouse.

    Several analyzers share out the models by the eight partitions of the topic `graphs`.
    """
    _run(ctx, ANALYZER, settings_of_service())


serve.add_command(weights)


def _run(ctx: click.Context, service: str, settings: Settings, **more: object) -> None:
    """Runs a service in this process until it ends, and exits with its status."""
    run = resolve_name(SERVICES[service].serve)
    ctx.exit(run(settings, say(service, settings), **more))


def settings_of_service() -> Settings:
    """The settings, as `service_settings`. Raises `BenanzaError` also if none says where Kafka
    is.
    """
    settings = service_settings()
    kafka_of(settings)
    return settings


def say(service: str, settings: Settings) -> "Started":
    """What prints the line by which people see that a service runs, and where."""

    def say(groups: Sequence[str], address: str) -> None:
        brokers = ",".join(kafka_of(settings).bootstrap)
        click.echo(f"serving {service}: Kafka {brokers}, group {', '.join(groups)}, {address}")

    return say
