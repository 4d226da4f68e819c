"""`benanza report`: what is known of models, as one HTML file."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    FiniteNumber,
    KnownModel,
    data_option,
    dim_filter_option,
    precision_filter_option,
)
from benanza.commands.startup import settings_of
from benanza_backbone.errors import BenanzaError
from benanza_schemas.layer import Precision


@click.command()
@click.argument("models", type=KnownModel(), nargs=-1, required=True, metavar="MODEL...")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    help="The file to write.",
    show_default=True,
)
@click.option(
    "--price-per-hour",
    type=FiniteNumber(min_open=True),
    help="What an hour of the device costs: the report then says what samples cost.",
)
@click.option(
    "--diff", "difference", is_flag=True, help="Compare two bounds: where one takes longer."
)
@dim_filter_option
@precision_filter_option
@data_option
def report(
    *,
    models: tuple[str, ...],
    out: Path,
    price_per_hour: float | None,
    difference: bool,
    dims: tuple[tuple[str, int], ...],
    precisions: tuple[Precision, ...],
    system: str,
    data: Path | None,
) -> None:
    """Writes what is known of each MODEL into one HTML file.

    It needs no network. It begins with the answer, and says what to do; shows the way from a
    framework's run, or from calls of libraries, to the bound and the speed of light; the calls in
    time, by block, and against the ceilings; the graph; a table of calls; and where the figures
    come from.

    \b
    Examples:
      benanza report zoo:resnet50 zoo:squeezenet -o report.html
      benanza report resnet50.onnx --precision fp32,fp16 --price-per-hour 3.5
      benanza report zoo:resnet50 zoo:vgg19 --precision fp16 --diff
      benanza report zoo:resnet50 --precision fp32,fp16 --diff -o precisions.html
    """
    from benanza.render.progress import progress_on
    from benanza.render.units import plural

    try:
        from benanza.report.report import report as write_report
    except ImportError as error:  # images of services do without what draws
        raise BenanzaError(f"a report can't be drawn here: {error}; install it") from error
    what = models, precisions, dict(dims)
    where = price_per_hour, out, system
    with progress_on(sys.stderr) as progress:
        written = write_report(
            settings_of(data), *what, *where, difference=difference, progress=progress
        )
    click.echo(f"{plural(written, 'bound')} in {out}")
