"""`benanza forget`: takes models out of what commands show."""

from pathlib import Path

import click

from benanza.commands.options import (
    Format,
    KnownModel,
    data_option,
    dim_filter_option,
    format_option,
    print_json,
)
from benanza.commands.startup import settings_of


@click.command()
@click.argument("models", type=KnownModel(), nargs=-1, required=True, metavar="MODEL...")
@dim_filter_option
@data_option
@format_option
def forget(
    *, models: tuple[str, ...], dims: tuple[tuple[str, int], ...], data: Path | None, output: Format
) -> None:
    """Takes each MODEL out of what commands show.

    That is the model at all its sizes, or at those of --batch and --dim. Its layers, and what was
    measured of them, stay: other models have them, too. To run or to publish it again shows it
    again, with all that is known. Over Kafka, the services take it out of the store.

    \b
    Examples:
      benanza forget zoo:squeezenet
      benanza forget squeezenet --batch 8
    """
    from benanza.operating.forget import forget_models
    from benanza.render.units import named_sizes

    forgotten = forget_models(settings_of(data), models, dict(dims))
    if output == "json":
        print_json(forgotten)
        return
    for each in forgotten.models:
        sizes = named_sizes({"batch": each.batch, **each.dims})
        click.echo(f"forgot {each.model} with {sizes} ({each.model_id[:8]})")
    click.echo("benanza run or publish shows a model again")
