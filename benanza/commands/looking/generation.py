"""`benanza generation`: what a decoder's tokens take."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    FiniteNumber,
    Format,
    KnownModel,
    data_option,
    dim_filter_option,
    fail_without,
    format_option,
    precision_filter_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.explain import NONE_SUCH
from benanza.render.answers.generation import print_generation
from benanza.render.table import console
from benanza_schemas.layer import Precision


@click.command()
@click.argument("step", type=KnownModel())
@click.option(
    "--prompt",
    type=KnownModel(),
    metavar="MODEL",
    help="The decoder as it reads the prompt: its bound is the time to the first token.",
)
@click.option(
    "--price",
    type=FiniteNumber(),
    help="What the system costs an hour, in any currency: adds what a million tokens cost.",
)
@dim_filter_option
@precision_filter_option
@data_option
@format_option
def generation(
    *,
    step: str,
    prompt: str | None,
    price: float | None,
    dims: tuple[tuple[str, int], ...],
    precisions: tuple[Precision, ...],
    system: str,
    data: Path | None,
    output: Format,
) -> None:
    """What the tokens take that the decoder STEP generates.

    STEP is a decoder as it generates: it reads one token of each sequence, and what it kept. Its
    bounds are the times for each token, at each batch size and length that `benanza run` has
    swept; so many sequences get a token in each. Beside the bounds are the attainable estimates,
    on GPUs, and the fastest runs that `benanza profile` stored. Nothing is benchmarked.

    \b
    Examples:
      benanza run step.onnx --dim batch=1,8,32 --dim past=1024,4096 --dim length=1
      benanza generation step.onnx --price 2.5
      benanza generation step.onnx --prompt prefill.onnx --precision fp16 --format json
    """
    from benanza.tokens.known import known_generation

    known = known_generation(settings_of(data), prompt, step, precisions, dict(dims), price, system)
    if output == "json":
        print_json(known)
    fail_without([*known.points, *known.partial], NONE_SUCH, output)
    if output == "text":
        print_generation(console(sys.stdout), known)
