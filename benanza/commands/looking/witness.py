"""`benanza witness`: runs the bound."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    FAILED,
    Format,
    Model,
    batch_option,
    data_option,
    dim_option,
    format_option,
    precision_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.progress import progress_on
from benanza.render.table import console
from benanza.render.witness import print_witnesses
from benanza.request import BoundPolicy, RunRequest
from benanza_schemas.layer import Precision


@click.command()
@click.argument("models", type=Model(), nargs=-1, required=True, metavar="MODEL...")
@click.option(
    "--what-ifs",
    is_flag=True,
    help="Also runs each as its bound would say under the policies of `benanza what-if`.",
)
@batch_option
@dim_option
@precision_option
@data_option
@format_option
@click.pass_context
def witness(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    what_ifs: bool,
    batch_sizes: tuple[int, ...],
    dims: tuple[tuple[str, int], ...],
    precisions: tuple[Precision, ...],
    data: Path | None,
    output: Format,
) -> None:
    """Runs each MODEL as its lower bound says.

    It shows how close to its bound a model can run. Layers without a time are benchmarked first,
    as by `run`. Then the fastest variants of all layers and groups run on the GPU, each reading
    what another wrote: one after the other as one CUDA graph, and on several streams. Needs an
    NVIDIA GPU.

    With --what-ifs, models also run without fusion, in one layout, and so on: that shows how far
    the predictions of `benanza what-if` can be trusted.

    \b
    Examples:
      benanza witness resnet50.onnx --precision fp16
      benanza witness zoo:squeezenet zoo:vgg19 --precision fp32,fp16 --format json
      benanza witness resnet50.onnx --precision fp16 --what-ifs
    """
    from benanza.looking.witness import witness as run_witness

    request = RunRequest(
        models=models,
        batch_sizes=batch_sizes,
        dims=dict(dims),
        policy=BoundPolicy(precisions),
        runtime="cuda",
    )
    with progress_on(sys.stderr) as progress:
        witnesses = run_witness(request, settings_of(data), progress, what_ifs=what_ifs)
    if output == "json":
        print_json(witnesses)
    elif witnesses.witnesses:
        print_witnesses(console(sys.stdout), witnesses)
    for failed in witnesses.errors:
        click.echo(f"error: {failed.reason}", err=True)
    if witnesses.errors or any(run.failure for run in witnesses.witnesses):
        ctx.exit(FAILED)
