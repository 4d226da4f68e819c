"""`benanza bounds`: the bounds now, or as they were."""

import sys
from datetime import datetime
from pathlib import Path

import click

from benanza.commands.options import (
    PARTIAL,
    Format,
    Model,
    Time,
    data_option,
    format_option,
    policy_options,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.bounds import print_bounds
from benanza.render.table import console
from benanza.request import Policy
from benanza_schemas.layer import Accounting, Precision


@click.command()
@click.argument("models", type=Model(), nargs=-1, metavar="[MODEL]...")
@click.option("--at", type=Time(), help="Bounds as they were at this time; UTC if it has no zone.")
@policy_options
@data_option
@format_option
@click.pass_context
def bounds(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    at: datetime | None,
    precisions: tuple[Precision, ...],
    fusion: bool,
    accounting: Accounting,
    data: Path | None,
    output: Format,
) -> None:
    """The bounds known now, or as they were at a time.

    Those of each MODEL, or of all. A MODEL may also be a name or an id that a table of bounds
    shows. Nothing is benchmarked.

    \b
    Examples:
      benanza bounds
      benanza bounds resnet50.onnx --accounting paper
      benanza bounds --at 2026-11-21T12:00 --format json
    """
    from benanza.known import known_bounds

    found = known_bounds(settings_of(data), models, Policy(precisions, fusion, accounting), at)
    if output == "json":
        print_json(found)
    else:
        print_bounds(console(sys.stdout), found)
    if any(bound.partial for bound in found.bounds):
        ctx.exit(PARTIAL)
