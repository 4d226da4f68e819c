"""`benanza retry`: layers that failed are measured again."""

from pathlib import Path

import click

from benanza.commands.options import Format, data_option, format_option, print_json
from benanza.commands.startup import settings_of


@click.command()
@click.option("--system", default="", help="Only those that failed on this system, by its id.")
@click.option("--reason", default="", help="Only those whose failure has this text in it.")
@data_option
@format_option
def retry(*, system: str, reason: str, data: Path | None, output: Format) -> None:
    """Asks for the layers again that have no time.

    Once what made them fail is mended: memory that was short, a driver, a library. Runners measure
    them as they do other jobs; on a system that has a time for a layer nothing happens. Without
    Kafka, the next `benanza run` measures them.

    \b
    Examples:
      benanza retry --reason "out of memory"
      benanza retry --system 2a1a5e9101a65ddad620880901728f9c
    """
    from benanza.render.units import plural
    from benanza.retrying import retry_failed

    found = retry_failed(settings_of(data), system_id=system, reason=reason)
    if output == "json":
        print_json(found)
        return
    click.echo(f"asked for {plural(found.layers, 'layer')} again")
    if found.without_job:
        lacking = plural(found.without_job, "layer")
        click.echo(
            f"{lacking} more failed without a job here: publish a model that has them", err=True
        )
