"""`benanza advise`: what would make a model faster in a framework."""

import sys
from pathlib import Path

import click

from benanza.commands.options import (
    Format,
    data_option,
    fail_without,
    format_option,
    known_model_argument,
    precision_filter_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.answers.advise import NONE_AT_PRECISION, NONE_ON_SYSTEM, print_advice
from benanza.render.table import console
from benanza_schemas.layer import Precision


@click.command()
@known_model_argument
@precision_filter_option
@data_option
@format_option
def advise(
    *,
    model: str,
    precisions: tuple[Precision, ...],
    system: str,
    data: Path | None,
    output: Format,
) -> None:
    """What would make MODEL faster in a framework.

    For each newest run that `benanza profile` stored: what each remedy saves, what to type or to
    set, and what was saved where a later run followed the advice. Savings are for one sample, and
    predicted from the bound on the same device. Rows about parts of the run add up; those about
    copied states, another configuration, precision or batch overlap with them. Nothing is run.

    \b
    Examples:
      benanza profile zoo:squeezenet --all-configurations
      benanza advise zoo:squeezenet
    """
    from benanza.looking.advise import known_advice

    advice = known_advice(settings_of(data), [model], precisions, system)
    if output == "json":
        print_json(advice)
    fail_without(advice.models, NONE_ON_SYSTEM if system else NONE_AT_PRECISION, output)
    if output == "text":
        print_advice(console(sys.stdout), advice)
