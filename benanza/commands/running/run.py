"""`benanza run`: the main job."""

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from benanza.commands.deriving import derivations_option
from benanza.commands.exporting import export_traces
from benanza.commands.options import (
    FAILED,
    PARTIAL,
    Format,
    Model,
    RuntimeName,
    batch_option,
    data_option,
    dim_sweep_option,
    format_option,
    policy_options,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.bounds import print_lower_bounds
from benanza.render.progress import progress_on
from benanza.render.table import console
from benanza.request import BoundPolicy, RunRequest
from benanza_backbone.settings import Settings
from benanza_schemas.events.derivation import Derivation
from benanza_schemas.layer import Accounting, Precision

ASKED_BY_SPEC = (
    *("batch_sizes", "dims", "values", "precisions", "fusion", "accounting", "runtime", "again"),
    *("quantised", "tensor_parallel"),
)
"""Options that a spec leaves no choice of."""


@click.command()
@click.argument("models", type=Model(), nargs=-1, metavar="MODEL...")
@click.option(
    "--spec",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Find the bound again that `benanza spec` describes in this file, or say what differs. "
    "MODEL is its file, if that is elsewhere here.",
)
@batch_option
@dim_sweep_option
@derivations_option
@policy_options
@click.option(
    "--runtime",
    type=RuntimeName(),
    default="auto",
    help="What measures the layers; auto takes the best that works here.",
    show_default=True,
)
@click.option(
    "--again",
    is_flag=True,
    help="Measure the models' layers anew here; the best of a layer's times counts.",
)
@data_option
@format_option
@click.pass_context
def run(
    ctx: click.Context,
    *,
    models: tuple[str, ...],
    spec: Path | None,
    batch_sizes: tuple[int, ...],
    dims: tuple[tuple[str, int | str | tuple[int, ...]], ...],
    derivations: tuple[Derivation, ...],
    precisions: tuple[Precision, ...],
    fusion: bool,
    accounting: Accounting,
    runtime: str,
    again: bool,
    data: Path | None,
    output: Format,
) -> None:
    """Lower bounds: how fast each MODEL could run here.

    Benchmarks those layers of the models that were never measured here before, and keeps the
    measurements. What an interrupted run has measured is kept as well.

    Layers that were timed while the machine was busy are timed again at the end, if it is quiet by
    then. The bounds say which could not be.

    With several sizes of a dimension, each combination has a bound; only what depends on the sizes
    is measured for each.

    \b
    Examples:
      benanza run resnet50.onnx
      benanza run zoo:squeezenet zoo:alexnet --batch 1,8
      benanza run resnet50.onnx --again
      benanza run bert.onnx --dim sequence=128 --fusion off --format json
      benanza run decoder.onnx --dim batch=1,8,32 --dim past=1024,4096
      benanza run llama.onnx --precision fp16 --quantised int4,int8
      benanza run --spec resnet50.json
    """
    from benanza.running.pipeline import run as run_pipeline

    if spec is not None:
        _reproduce(ctx, spec, models, settings_of(data), output)
        return
    if not models:
        raise click.UsageError("Missing argument 'MODEL...'.", ctx)
    request = RunRequest(
        models=models,
        batch_sizes=batch_sizes,
        dims={name: bound for name, bound in dims if isinstance(bound, int)},
        sweep={name: sizes for name, sizes in dims if isinstance(sizes, tuple)},
        derived={name: text for name, text in dims if isinstance(text, str)},
        policy=BoundPolicy(precisions, fusion, accounting),
        runtime=runtime,
        again=again,
        derivations=derivations,
    )
    settings = settings_of(data)
    with progress_on(sys.stderr) as progress:
        lower_bounds = run_pipeline(request, settings, progress)
    if output == "json":
        print_json(lower_bounds)
    elif lower_bounds.bounds:
        print_lower_bounds(console(sys.stdout), lower_bounds)
    for failed in lower_bounds.errors:
        click.echo(f"error: {failed.reason}", err=True)
    export_traces(settings, [bound.model_id for bound in lower_bounds.bounds])
    if lower_bounds.errors:
        ctx.exit(FAILED)
    if any(bound.partial for bound in lower_bounds.bounds):
        ctx.exit(PARTIAL)


def _reproduce(
    ctx: click.Context, file: Path, models: tuple[str, ...], settings: Settings, output: Format
) -> None:
    from benanza.looking.spec import read_spec
    from benanza.render.answers.reproduced import print_reproduced
    from benanza.running.reproduce import reproduce

    given = [
        name
        for name in ASKED_BY_SPEC
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if given or len(models) > 1:
        raise click.UsageError(
            "--spec says what to run; beside it name no more than its MODEL", ctx
        )
    spec = read_spec(file)
    (source,) = models or (spec.model.source,)
    with progress_on(sys.stderr) as progress:
        reproduced = reproduce(spec, source, settings, progress)
    if output == "json":
        print_json(reproduced)
    else:
        print_reproduced(console(sys.stdout), reproduced)
    if not reproduced.same:
        ctx.exit(FAILED)
