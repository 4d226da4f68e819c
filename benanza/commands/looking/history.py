"""`benanza history`: what moved a model's bounds."""

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
    none_with,
    policy_filter_options,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.explain import NONE_SUCH
from benanza.render.history import print_history
from benanza.render.table import console
from benanza.request import BoundPolicy


@click.command()
@known_model_argument
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Only the newest so many rows of each bound.",
)
@dim_filter_option
@policy_filter_options
@data_option
@format_option
def history(
    *,
    model: str,
    limit: int | None,
    dims: tuple[tuple[str, int], ...],
    policy: BoundPolicy,
    data: Path | None,
    output: Format,
) -> None:
    """What moved the bounds of MODEL, and when.

    The measurements of a first run are one row; as JSON each is there, and --limit is the number of
    versions. MODEL may also be a name or an id that a table of bounds shows.

    \b
    Examples:
      benanza history resnet50.onnx --limit 5
      benanza history bert.onnx --dim sequence=128
      benanza history zoo:squeezenet --fusion off --format json
    """
    from benanza.looking.bounds import known_history, newest

    versions = known_history(settings_of(data), model, policy, dict(dims))
    if output == "json":
        print_json(versions if limit is None else newest(versions, limit))
    fail_without(versions.history, none_with(dims) if dims else NONE_SUCH, output)
    if output == "text":
        print_history(console(sys.stdout), versions, limit)
