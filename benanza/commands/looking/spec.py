"""`benanza spec`: what a bound was found with."""

from pathlib import Path

import click

from benanza.commands.options import (
    data_option,
    dim_filter_option,
    known_model_argument,
    policy_filter_options,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.request import BoundPolicy


@click.command()
@known_model_argument
@dim_filter_option
@policy_filter_options
@data_option
def spec(
    *,
    model: str,
    dims: tuple[tuple[str, int], ...],
    policy: BoundPolicy,
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

    print_json(known_spec(settings_of(data), model, policy, dict(dims)))
