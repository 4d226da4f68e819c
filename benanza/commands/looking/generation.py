"""`benanza generation`: what a decoder's tokens take."""

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from benanza.commands.options import (
    FAILED,
    FiniteNumber,
    Format,
    KnownModel,
    TokenRange,
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

OF_LOAD = ("prompt_length", "output_length", "sequences", "cache_tokens")


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
@click.option(
    "--rate",
    type=FiniteNumber(min_open=True),
    help="Also simulates continuous batching: requests come at random times, so many a second.",
)
@click.option(
    "--prompt-length",
    type=TokenRange(),
    default="512",
    help="With --rate: the tokens of a prompt; of LEAST-MOST each number is as likely.",
    show_default=True,
)
@click.option(
    "--output-length",
    type=TokenRange(),
    default="128",
    help="With --rate: the tokens that a request gets, likewise.",
    show_default=True,
)
@click.option(
    "--sequences",
    type=click.IntRange(1),
    help="With --rate: so many run at once at most; by default as many as a step has bounds for.",
)
@click.option(
    "--cache-tokens",
    type=click.IntRange(1),
    help="With --rate: the cache has so many tokens for all that run; by default enough.",
)
@dim_filter_option
@precision_filter_option
@data_option
@format_option
@click.pass_context
def generation(
    ctx: click.Context,
    *,
    step: str,
    prompt: str | None,
    price: float | None,
    rate: float | None,
    prompt_length: tuple[int, int],
    output_length: tuple[int, int],
    sequences: int | None,
    cache_tokens: int | None,
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

    With --rate it also says what comes of a load: requests are served in turn as they come and go,
    prompts one at a time before steps, by times between those that were swept. Without --prompt,
    prompts are read elsewhere.

    \b
    Examples:
      benanza run step.onnx --dim batch=1,8,32 --dim past=1024,4096 --dim length=1
      benanza generation step.onnx --price 2.5
      benanza generation step.onnx --prompt prefill.onnx --precision fp16 --format json
      benanza generation step.onnx --rate 20 --prompt-length 64-512 --output-length 32-96
    """
    for name in OF_LOAD if rate is None else ():
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"--{name.replace('_', '-')} needs --rate", ctx)
    from benanza.tokens.known import known_generation
    from benanza.tokens.load import TokenLoad
    from benanza.tokens.under_load import generation_under_load

    asked = (settings_of(data), prompt, step, precisions, dict(dims), price)
    if rate is None:
        known = known_generation(*asked, system)
    else:
        load = TokenLoad(
            rate_per_s=rate,
            prompt_tokens=prompt_length,
            output_tokens=output_length,
            sequences=sequences,
            cache_tokens=cache_tokens,
        )
        known = generation_under_load(*asked, load, system)
    if output == "json":
        print_json(known)
    fail_without([*known.points, *known.partial], NONE_SUCH, output)
    if output == "text":
        print_generation(console(sys.stdout), known)
    if rate is not None and not any(each.found for each in known.under_load):
        ctx.exit(FAILED)
