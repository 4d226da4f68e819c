"""`benanza layers`: the unique layers that are known, and what they cost."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    Format,
    KnownModel,
    data_option,
    fail_without,
    format_option,
    precision_filter_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.layers import NONE_KNOWN, SHOWN, print_layers
from benanza.render.table import console
from benanza_schemas.layer import Precision


@click.command()
@click.argument("models", type=KnownModel(), nargs=-1, metavar="[MODEL]...")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help=f"Only so many layers, those that cost the most; by default {SHOWN} in each table, and "
    "all as JSON.",
)
@precision_filter_option
@data_option
@format_option
def layers(
    *,
    models: tuple[str, ...],
    limit: int | None,
    precisions: tuple[Precision, ...],
    system: str,
    data: Path | None,
    output: Format,
) -> None:
    """The unique layers and groups, and what they cost.

    Those of each MODEL, or of all: in how many models each is, how often they use it, and on each
    system its best time with the call that takes it, why it has none, or that it waits. Those whose
    uses take the most time together come first. A MODEL may also be a name or an id that a table of
    bounds shows. Nothing is benchmarked.

    \b
    Examples:
      benanza layers
      benanza layers resnet50.onnx --precision fp16
      benanza layers zoo:squeezenet bert.onnx --limit 5 --format json
    """
    from benanza.looking.layers import first, known_layers

    known = known_layers(settings_of(data), models, precisions, system)
    if output == "json":
        print_json(known if limit is None else first(known, limit))
    fail_without(known.layers, NONE_KNOWN, output)
    if output == "text":
        print_layers(console(sys.stdout), known, limit or SHOWN)
