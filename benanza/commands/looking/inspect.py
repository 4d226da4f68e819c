"""`benanza inspect`: the layers of a model."""

import sys

import click

from benanza import api
from benanza.commands.options import (
    PARTIAL,
    Format,
    derivation_option,
    dim_option,
    format_option,
    model_argument,
    print_json,
)
from benanza.render.inspect import print_inspection
from benanza.render.table import console
from benanza_schemas.events.derivation import Derivation


@click.command()
@model_argument
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    help="The batch size; by default the model's own, and 1 where it leaves that open.",
)
@dim_option
@derivation_option
@format_option
@click.pass_context
def inspect(
    ctx: click.Context,
    *,
    model: str,
    batch: int | None,
    dims: tuple[tuple[str, int], ...],
    derivation: Derivation,
    output: Format,
) -> None:
    """The layers of MODEL, and what each computes.

    MODEL is a path, a file:, http:, https: or s3: address, or zoo:NAME. If all layers are skipped,
    it ends with status 3.

    \b
    Examples:
      benanza inspect resnet50.onnx
      benanza inspect zoo:squeezenet --batch 8
      benanza inspect resnet50.onnx --quantised int8
      benanza inspect bert.onnx --dim sequence=128 --format json
    """
    inspection = api.inspect(model, batch=batch, dims=dict(dims), **derivation._asdict())
    if output == "json":
        print_json(inspection)
    else:
        print_inspection(console(sys.stdout), inspection)
    if inspection.layers and len(inspection.skipped) == len(inspection.layers):
        click.echo(f"all layers are skipped; the first: {inspection.skipped[0].reason}", err=True)
        ctx.exit(PARTIAL)
