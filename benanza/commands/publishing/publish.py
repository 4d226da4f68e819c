"""`benanza publish`: model events for the services."""

import sys
from pathlib import Path

import click

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
from benanza.render.publish import print_published
from benanza.render.table import console


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
@click.option(
    "-G",
    "--granularity",
    type=click.IntRange(min=1),
    help="Time the models' networks of at most so many layers, too, for `benanza suite latency`.",
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
    granularity: int | None,
    data: Path | None,
    output: Format,
) -> None:
    """Publishes models to the services.

    A MODEL may also be a folder, which stands for every .onnx file below it, or the listing of
    a zoo: a path or an address that ends in .json or .jsonl. The events go to the Kafka that
    BENANZA_KAFKA names; without it into the embedded log, and `benanza run` of a model measures
    it. What is published again has the same event id.

    \b
    Examples:
      benanza publish resnet50.onnx --batch 1,8
      benanza publish models/ --zoo ours
      benanza publish https://zoo.example/listing.jsonl --zoo example --format json
    """
    from benanza.publishing.publish import PublishRequest
    from benanza.publishing.publish import publish as publish_models

    request = PublishRequest(zoo, batch_sizes, dict(dims), granularity)
    found = publish_models(models, request, settings_of(data))
    if output == "json":
        print_json(found)
    elif found.models:
        print_published(console(sys.stdout), found)
    for model in found.models:
        if model.warning:
            click.echo(f"warning: {model.warning}", err=True)
    for error in found.errors:
        click.echo(f"error: {error.reason}", err=True)
    if found.errors:
        ctx.exit(FAILED)
