"""`benanza inspect`: the layers of a model."""

import sys

import click

from benanza import api
from benanza.commands.deriving import derivation_option
from benanza.commands.options import (
    PARTIAL,
    Format,
    dim_option,
    format_option,
    model_argument,
    print_json,
)
from benanza.render.inspect import print_inspection, print_weights
from benanza.render.table import console
from benanza.results.inspect import InspectedWeights
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation


@click.command()
@model_argument
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    help="The batch size; by default the model's own, and 1 where it leaves that open.",
)
@dim_option
@derivation_option
@click.option("--weights", is_flag=True, help="What its weights hold, in place of its layers.")
@format_option
@click.pass_context
def inspect(
    ctx: click.Context,
    *,
    model: str,
    batch: int | None,
    dims: tuple[tuple[str, int], ...],
    derivation: Derivation,
    weights: bool,
    output: Format,
) -> None:
    """The layers of MODEL, or what its weights hold.

    MODEL is a path, a file:, http:, https: or s3: address, or zoo:NAME. If all layers are skipped,
    it ends with status 3; and with --weights, if the values of none can be had.

    \b
    Examples:
      benanza inspect resnet50.onnx
      benanza inspect zoo:squeezenet --batch 8
      benanza inspect resnet50.onnx --quantised int8
      benanza inspect resnet50.onnx --weights
      benanza inspect bert.onnx --dim sequence=128 --format json
    """
    if weights:
        if batch is not None or dims or derivation != AS_WRITTEN:
            raise click.UsageError(
                "--weights shows them as the file has them; leave out --batch, --dim, --value, "
                "--quantised and --tensor-parallel"
            )
        _show_weights(ctx, api.inspect_weights(model), output)
        return
    inspection = api.inspect(model, batch=batch, dims=dict(dims), **derivation._asdict())
    if output == "json":
        print_json(inspection)
    else:
        print_inspection(console(sys.stdout), inspection)
    if inspection.layers and len(inspection.skipped) == len(inspection.layers):
        click.echo(f"all layers are skipped; the first: {inspection.skipped[0].reason}", err=True)
        ctx.exit(PARTIAL)


def _show_weights(ctx: click.Context, found: InspectedWeights, output: Format) -> None:
    if output == "json":
        print_json(found)
    else:
        print_weights(console(sys.stdout), found)
    if found.weights and all(weight.reason for weight in found.weights):
        reason = found.weights[0].reason
        click.echo(f"the values of no weight can be had; of the first: {reason}", err=True)
        ctx.exit(PARTIAL)
