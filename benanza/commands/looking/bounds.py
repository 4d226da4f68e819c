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
    dim_filter_option,
    format_option,
    none_with,
    policy_options,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.bounds import print_bounds
from benanza.render.table import console
from benanza.request import BoundPolicy
from benanza_schemas.layer import Accounting, Precision


@click.command()
@click.argument("models", type=Model(), nargs=-1, metavar="[MODEL]...")
@click.option("--at", type=Time(), help="Bounds as they were at this time; UTC if it has no zone.")
@dim_filter_option
@policy_options
@data_option
@format_option
@click.pass_context
def bounds(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    at: datetime | None,
    dims: tuple[tuple[str, int], ...],
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
      benanza bounds bert.onnx --dim sequence=128
      benanza bounds --at 2026-11-21T12:00 --format json
    """
    from benanza.looking.bounds import known_bounds

    policy = BoundPolicy(precisions, fusion, accounting)
    found = known_bounds(settings_of(data), models, policy, dict(dims), at)
    if output == "json":
        print_json(found)
    elif at is not None and not found.bounds:
        click.echo(f"no bounds were known at {at.isoformat()}; leave out --at for those known now")
    elif dims and not found.bounds:
        click.echo(none_with(dims))
    else:
        print_bounds(console(sys.stdout), found)
    if any(bound.partial for bound in found.bounds):
        ctx.exit(PARTIAL)
