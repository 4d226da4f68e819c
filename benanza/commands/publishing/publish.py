"""`benanza publish`: model events for the services."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from benanza.commands.deriving import derivations_option
from benanza.commands.exporting import export_traces
from benanza.commands.options import (
    FAILED,
    Format,
    Model,
    Positive,
    data_option,
    dim_option,
    format_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.progress import progress_on
from benanza.render.publish import print_published
from benanza.render.table import console
from benanza.results.publish import Published
from benanza_backbone.settings import Settings
from benanza_schemas.events.derivation import Derivation

if TYPE_CHECKING:
    from benanza.publishing.publish import PublishRequest


@click.command()
@click.argument("models", type=Model(), nargs=-1, required=True, metavar="MODEL...")
@click.option("--zoo", help="The zoo that the models belong to.")
@click.option(
    "--batch",
    "batch_sizes",
    type=Positive(),
    default=(),
    help="Batch sizes; by default the model's own, and 1 where it leaves that open.",
)
@dim_option
@derivations_option
@click.option(
    "-G",
    "--granularity",
    type=click.IntRange(min=1),
    help="Time the models' networks of at most so many layers, too, for `benanza suite latency`.",
)
@click.option(
    "--wait",
    is_flag=True,
    help="Return when the runners at work have measured all layers, and the bounds are stored.",
)
@data_option
@format_option
@click.pass_context
def publish(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    zoo: str | None,
    batch_sizes: tuple[int, ...],
    dims: tuple[tuple[str, int], ...],
    derivations: tuple[Derivation, ...],
    granularity: int | None,
    wait: bool,
    data: Path | None,
    output: Format,
) -> None:
    """Publishes models to the services.

    A MODEL may also be a folder, which stands for every .onnx file below it, or the listing of
    a zoo: a path or an address that ends in .json or .jsonl. The events go to the Kafka that
    BENANZA_KAFKA names; without it into the embedded log, and `benanza run` of a model measures
    it. What is published again has the same event id. A file travels in its event, compressed; one
    that is too large for that is uploaded where BENANZA_MODEL_UPLOADS says, an s3:// address.

    \b
    Examples:
      benanza publish resnet50.onnx --batch 1,8
      benanza publish llama.onnx --quantised int4,int8
      benanza publish models/ --zoo ours
      BENANZA_KAFKA=localhost:9092 benanza publish resnet50.onnx --wait
      benanza publish https://zoo.example/listing.jsonl --zoo example --format json
    """
    from benanza.arguments import optional_text
    from benanza.publishing.publish import PublishRequest
    from benanza.publishing.publish import publish as publish_models

    request = PublishRequest(
        optional_text("--zoo", zoo), batch_sizes, dict(dims), granularity, derivations
    )
    settings = settings_of(data)
    published = (_publish_and_wait if wait else publish_models)(models, request, settings)
    if output == "json":
        print_json(published)
    elif published.models:
        print_published(console(sys.stdout), published)
    for model in published.models:
        if model.warning:
            click.echo(f"warning: {model.warning}", err=True)
    for error in published.errors:
        click.echo(f"error: {error.reason}", err=True)
    if wait:
        export_traces(settings, [model.sha256 for model in published.models])
    if published.errors:
        ctx.exit(FAILED)


def _publish_and_wait(
    models: tuple[str, ...], request: "PublishRequest", settings: Settings
) -> Published:
    """What was published, those among the errors that could not be ingested then."""
    from benanza.publishing.publish import publish as publish_models

    if settings.kafka is None:
        raise click.UsageError(
            "--wait is for services over Kafka: set BENANZA_KAFKA; without it, benanza run measures"
        )
    from benanza.publishing.wait import awaiting

    with awaiting(settings) as services:
        published = publish_models(models, request, settings)
        with progress_on(sys.stderr) as progress:
            failed = services.bounds(published.models, progress)
    return replace(published, errors=(*published.errors, *failed))
