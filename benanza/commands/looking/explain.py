"""`benanza explain`: where the time of a bound goes."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    Format,
    data_option,
    dim_filter_option,
    fail_without,
    format_option,
    known_model_argument,
    policy_filter_options,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.explain import NONE_SUCH, TOP, print_explanations
from benanza.render.table import console
from benanza.request import BoundPolicy


@click.command()
@known_model_argument
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=TOP,
    show_default=True,
    help="How many kinds of calls to show.",
)
@dim_filter_option
@policy_filter_options
@data_option
@format_option
def explain(
    *,
    model: str,
    limit: int,
    dims: tuple[tuple[str, int], ...],
    policy: BoundPolicy,
    data: Path | None,
    output: Format,
) -> None:
    """Where the time of the bounds of MODEL goes.

    It lists the calls that each bound adds up, those that take the longest first: the variant that
    is the fastest, what it moves and computes in a second, and which share of the system's highest
    rate that is. Calls of the same kind are one row; as JSON each is there, with the names of its
    layers. MODEL may also be a name or an id that a table of bounds shows. Nothing is benchmarked.

    \b
    Examples:
      benanza explain resnet50.onnx
      benanza explain zoo:squeezenet --precision fp16 --limit 5
      benanza explain bert.onnx --fusion off --format json
    """
    from benanza.looking.explain import known_explanations

    explanations = known_explanations(settings_of(data), [model], policy, dict(dims))
    if output == "json":
        print_json(explanations)
    fail_without(explanations.explanations, NONE_SUCH, output)
    if output == "text":
        print_explanations(console(sys.stdout), explanations, limit)
