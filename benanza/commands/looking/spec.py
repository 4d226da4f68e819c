"""`benanza spec`: what a bound was found with."""

from pathlib import Path

import click

from benanza.commands.options import (
    SystemId,
    data_option,
    dim_filter_option,
    known_model_argument,
    policy_options,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.request import BoundPolicy
from benanza_schemas.layer import Accounting, Precision


@click.command()
@known_model_argument
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="The bound's batch size.")
@click.option("--system", type=SystemId(), default="", help="How the id of its system begins.")
@dim_filter_option
@policy_options
@data_option
def spec(
    *,
    model: str,
    batch: int | None,
    system: str,
    dims: tuple[tuple[str, int], ...],
    precisions: tuple[Precision, ...],
    fusion: bool,
    accounting: Accounting,
    data: Path | None,
) -> None:
    """What a bound of MODEL was found with, in JSON.

    Its parts are hardware, software, data and model. `benanza run --spec FILE` finds the same bound
    again, here or elsewhere, or says what differs.

    \b
    Examples:
      benanza spec zoo:squeezenet > squeezenet.json
      benanza spec resnet50.onnx --precision fp16 --batch 32 > resnet50.json
      benanza run --spec squeezenet.json
    """
    from benanza.looking.spec import known_spec

    policy = BoundPolicy(precisions, fusion, accounting)
    print_json(known_spec(settings_of(data), model, policy, dict(dims), batch, system))
