"""`benanza serve`: one service over Kafka."""

import logging
from collections.abc import Callable, Sequence
from typing import get_args

import click

from benanza.commands.options import Precisions
from benanza.settings import load
from benanza_backbone.log import configure
from benanza_backbone.settings import Settings
from benanza_runner.runtime import RuntimeChoice
from benanza_schemas.layer import Precision

log = logging.getLogger(__name__)


@click.group()
def serve() -> None:
    """One service over Kafka, until SIGTERM or Ctrl-C.

    Needs BENANZA_KAFKA. The first signal lets it finish what it is at; a second one ends it at
    once. /healthz, /readyz and /metrics answer on BENANZA_METRICS_PORT.

    \b
    Examples:
      benanza serve ingest
      benanza serve runner --precision fp32,fp16
      BENANZA_CLICKHOUSE=clickhouse://localhost:8123 benanza serve analyzer
    """


@serve.command()
@click.pass_context
def ingest(ctx: click.Context) -> None:
    """Models to graphs and layers."""
    from benanza_ingest.service import serve as serve_ingest

    settings = settings_of_service()
    ctx.exit(serve_ingest(settings, say("ingest", settings)))


@serve.command()
@click.pass_context
def dedupe(ctx: click.Context) -> None:
    """Layers to jobs, each unique layer once."""
    from benanza_backbone.settings import kafka_of
    from benanza_dedupe.app import serve as serve_dedupe

    settings = settings_of_service()
    kafka_of(settings)
    ctx.exit(serve_dedupe(settings, say("dedupe", settings)))


@serve.command()
@click.option(
    "--precision",
    "precisions",
    type=Precisions(),
    default=("fp32",),
    help="fp32 (the default), tf32, fp16, bf16.",
)
@click.option(
    "--runtime",
    type=click.Choice(get_args(RuntimeChoice)),
    default="auto",
    help="What measures the layers; auto takes the best that works here.",
    show_default=True,
)
@click.pass_context
def runner(
    ctx: click.Context, *, precisions: tuple[Precision, ...], runtime: RuntimeChoice
) -> None:
    """Jobs to results: every unique layer, measured on this system.

    Runners of one system share its jobs. One of a new system begins with the first job there
    ever was.
    """
    from benanza_backbone.settings import kafka_of
    from benanza_runner.runtimes import open_runtime
    from benanza_runner.service import serve as serve_runner

    settings = settings_of_service()
    kafka_of(settings)
    with open_runtime(runtime, settings) as opened:
        ctx.exit(
            serve_runner(settings, say("runner", settings), runtime=opened, precisions=precisions)
        )


@serve.command()
@click.pass_context
def analyzer(ctx: click.Context) -> None:
    """Results to bounds, and all that people ask for into ClickHouse.

    Of several analyzers one is at work, and the others stand by for it.
    """
    from benanza_analyzer.service import serve as serve_analyzer

    settings = settings_of_service()
    ctx.exit(serve_analyzer(settings, say("analyzer", settings)))


def settings_of_service() -> Settings:
    from benanza.event_logs import quieten_kafka

    settings = load(None)
    configure(settings.log_format)
    # kafka-python logs as errors what it also raises, some fifteen lines a second while no broker
    # answers. What matters of that, the services say.
    quieten_kafka()
    for library in ("aiokafka", "urllib3"):
        logging.getLogger(library).setLevel(logging.ERROR)
    for line in settings.unknown:
        log.warning("%s", line)
    return settings


def say(service: str, settings: Settings) -> Callable[[Sequence[str], str], None]:
    def say(groups: Sequence[str], address: str) -> None:
        brokers = ",".join(settings.kafka.bootstrap) if settings.kafka else ""
        click.echo(f"serving {service}: Kafka {brokers}, group {', '.join(groups)}, {address}")

    return say
