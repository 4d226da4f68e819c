"""`benanza tasks`: the calls of a bound with the largest gap as problems for others."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    Format,
    SystemId,
    data_option,
    dim_filter_option,
    format_option,
    known_model_argument,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.table import console
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

LIMIT = 10


@click.command()
@known_model_argument
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder to write into.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    help="How many tasks to write.",
    show_default=True,
)
@click.option(
    "--system",
    type=SystemId(),
    default="",
    help="The system whose bound is meant, by its id or the first digits of it.",
)
@click.option(
    "--precision",
    type=click.Choice([*PRECISIONS]),
    default="fp32",
    help="The precision of the bound.",
    show_default=True,
)
@dim_filter_option
@data_option
@format_option
def tasks(
    *,
    model: str,
    out: Path,
    limit: int,
    system: str,
    precision: Precision,
    dims: tuple[tuple[str, int], ...],
    data: Path | None,
    output: Format,
) -> None:
    """Which calls of MODEL want a faster kernel, as tasks.

    Each kind of calls is a task in a folder of its own: what is computed, as references in NumPy
    and PyTorch that run without Benanza; shapes, types, tolerance and inputs; the best known time
    and what reaches it, the speed of light and what holds that. Those with the most time above
    their speed of light, over all their calls, come first. The folders flashinfer-trace and
    sol-execbench have them in these formats. Nothing is benchmarked; benanza solve tries solutions.

    \b
    Examples:
      benanza tasks zoo:squeezenet --out tasks
      benanza tasks resnet50.onnx --precision fp16 --system 3f2a --limit 20 --out tasks
    """
    from benanza.render.answers.tasks import print_tasks
    from benanza.tasks.write_tasks import Wanted, write_tasks

    wanted = Wanted(model, precision, system, dict(dims), limit)
    written = write_tasks(settings_of(data), wanted, out)
    if output == "json":
        print_json(written)
    else:
        print_tasks(console(sys.stdout), written)
