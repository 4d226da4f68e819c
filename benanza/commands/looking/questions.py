"""`benanza questions`: the six questions of the paper."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
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
from benanza.render.answers.questions import print_answers
from benanza.render.table import console
from benanza_schemas.layer import Precision


@click.command()
@click.argument("models", type=KnownModel(), nargs=-1, required=True, metavar="MODEL...")
@dim_filter_option
@precision_filter_option
@data_option
@format_option
def questions(
    *,
    models: tuple[str, ...],
    dims: tuple[tuple[str, int], ...],
    precisions: tuple[Precision, ...],
    system: str,
    data: Path | None,
    output: Format,
) -> None:
    """The six questions of Benanza's paper, for each MODEL.

    Q1 is the potential speed-up, Q2 independent layers in parallel, Q3 the best algorithms, Q4 a
    framework's inefficiencies, Q5 fusion, Q6 Tensor Cores. Q1 and Q4 need a run that `benanza
    profile` stored. Nothing is benchmarked.

    \b
    Examples:
      benanza questions zoo:resnet50 zoo:squeezenet
      benanza questions $(benanza zoo) --precision fp32 --format json
    """
    from benanza.looking.questions import known_answers

    answers = known_answers(settings_of(data), models, precisions, dict(dims), system)
    if output == "json":
        print_json(answers)
    fail_without(answers.models, NONE_SUCH, output)
    if output == "text":
        print_answers(console(sys.stdout), answers)
