"""`benanza status`: what goes on."""

import sys
from pathlib import Path

import click

from benanza.commands.options import Format, Model, data_option, format_option, print_json
from benanza.commands.startup import settings_of
from benanza.render.status import print_status
from benanza.render.table import console


@click.command()
@click.argument("model", type=Model(), default="", metavar="[MODEL]")
@data_option
@format_option
def status(*, model: str, data: Path | None, output: Format) -> None:
    """What is ingested and measured, what waits, and who works.

    Of all models, or of the layers of MODEL, which may also be a name or an id that a table of
    bounds shows. It works while another process is at work on the same folder. Over Kafka, what is
    measured is what ClickHouse has of it, and a process that was killed counts until its session
    has run out.

    \b
    Examples:
      benanza status
      benanza status resnet50.onnx
      BENANZA_KAFKA=localhost:9092 benanza status --format json
    """
    from benanza.operating.status import status as find_status

    state = find_status(settings_of(data), model)
    if output == "json":
        print_json(state)
    else:
        print_status(console(sys.stdout), state)
