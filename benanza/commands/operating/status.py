"""`benanza status`: what goes on."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benanza.commands.options import Format, Model, data_option, format_option, print_json
from benanza.commands.startup import settings_of
from benanza.render.status import print_status
from benanza.render.table import console
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings

if TYPE_CHECKING:
    from benanza.operating.status import NamedModel


@click.command()
@click.argument("model", type=Model(), default="", metavar="[MODEL]")
@click.option(
    "--trace",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also writes when the services worked on MODEL, from its publication to its bounds, as a "
    "trace for Perfetto.",
)
@data_option
@format_option
@click.pass_context
def status(
    ctx: click.Context, *, model: str, trace: Path | None, data: Path | None, output: Format
) -> None:
    """What is ingested and measured, what waits, and who works.

    Of all models, or of the layers of MODEL, which may also be a name or an id that a table of
    bounds shows. It works while another process is at work on the same folder. Over Kafka, what is
    measured is what ClickHouse has of it, and a process that was killed counts until its session
    has run out.

    With --trace, the standard variables of OpenTelemetry, such as OTEL_EXPORTER_OTLP_ENDPOINT, also
    have the traces exported.

    \b
    Examples:
      benanza status
      benanza status resnet50.onnx
      benanza status resnet50.onnx --trace resnet50.json
      BENANZA_KAFKA=localhost:9092 benanza status --format json
    """
    from benanza.operating.status import NamedModel
    from benanza.operating.status import status as find_status
    from benanza_ingest.limits import limits_of

    if trace is not None and not model:
        raise click.UsageError("--trace is of a MODEL: name one", ctx)
    settings = settings_of(data)
    named = NamedModel(model, limits_of(settings)) if model else None
    state = find_status(settings, named)
    if output == "json":
        print_json(state)
    else:
        print_status(console(sys.stdout), state)
    if trace is not None and named is not None:
        _write_traces(trace, settings, named)


def _write_traces(path: Path, settings: Settings, model: "NamedModel") -> None:
    from benanza.operating.traces import traces_of
    from benanza.render.load.trace import service_line
    from benanza.spans.output import TraceOutput

    traces = TraceOutput(path, os.environ)
    for found in traces_of(settings, model):
        traces.tell(found)
    traces.write()
    for found in traces.told:
        click.echo(service_line(found), err=True)
    try:
        traces.export()
    except BenanzaError as error:
        click.echo(f"warning: {error}", err=True)
