"""`benanza trace`: a trace that another profiler recorded."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    Format,
    Model,
    data_option,
    dim_option,
    format_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.trace import TOP, print_comparison, print_trace
from benanza.render.table import console
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=_FILE)
@click.option(
    "--compare",
    "other",
    type=_FILE,
    help="Another trace, such as one of the same steps with other settings.",
)
@click.option(
    "--model",
    "asked",
    type=Model(),
    metavar="MODEL",
    help="A model that it may be of: says which of its layers the trace has, and its bound.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    help="The batch size of --model; by default the model's own.",
)
@dim_option
@click.option(
    "--precision",
    type=click.Choice(list(PRECISIONS)),
    help="What a report of Nsight Systems was run at: it has shapes of tensors without types.",
)
@click.option(
    "--publish",
    "publishes",
    is_flag=True,
    help="Publishes the operators as the model trace:NAME, so that their layers are measured.",
)
@click.option(
    "-o",
    "model",
    type=_FILE,
    help="Also writes the operators as an ONNX file, for benanza run and publish.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=TOP,
    help="How many rows of each table to show.",
    show_default=True,
)
@data_option
@format_option
def trace(
    *,
    file: Path,
    other: Path | None,
    asked: str | None,
    batch: int | None,
    dims: tuple[tuple[str, int], ...],
    precision: Precision | None,
    publishes: bool,
    model: Path | None,
    limit: int,
    data: Path | None,
    output: Format,
) -> None:
    """Where the time of a recorded run went.

    FILE is a trace of PyTorch's profiler, as vLLM and SGLang write it, too (.json or .json.gz, with
    record_shapes=True), of ONNX Runtime's profiler, or a report of Nsight Systems as SQLite (nsys
    export --type sqlite). It says what bounds would save. Nothing is run, and no model is
    needed: each operator with its shapes is a layer, and has a bound once that was measured on such
    a device, for whichever model.
    Operators that could run as one call count one by one: a trace doesn't say what reads what.

    \b
    Examples:
      benanza trace trace.json.gz
      benanza trace trace.json.gz --model resnet50.onnx --batch 8
      benanza trace trace.json.gz --publish
      benanza trace trace.json.gz -o trace.onnx && benanza run trace.onnx --precision fp16
      benanza trace report.sqlite --precision fp16
      benanza trace eager.json.gz --compare compiled.json.gz
    """
    from benanza.tracing.answer import trace_answer
    from benanza.tracing.beside_model import given_model
    from benanza.tracing.difference import comparison
    from benanza_ingest.limits import limits_of

    settings = settings_of(data)
    given = given_model(asked, batch, dict(dims), limits_of(settings)) if asked else None
    answer = trace_answer(
        file, settings, publishes=publishes, output=model, given=given, precision=precision
    )
    if other is not None:
        compared = comparison(answer, trace_answer(other, settings, precision=precision))
        if output == "json":
            print_json(compared)
        else:
            print_comparison(console(sys.stdout), compared, limit)
    elif output == "json":
        print_json(answer)
    else:
        print_trace(console(sys.stdout), answer, limit)
