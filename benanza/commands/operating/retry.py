"""`benanza retry`: layers that failed are measured again."""

from pathlib import Path

import click

from benanza.commands.options import Format, SystemId, data_option, format_option, print_json
from benanza.commands.startup import settings_of


@click.command()
@click.option(
    "--system",
    type=SystemId(),
    default="",
    help="Only those that failed on this system, by its id or the first digits of it.",
)
@click.option("--reason", default="", help="Only those whose failure has this text in it.")
@data_option
@format_option
def retry(*, system: str, reason: str, data: Path | None, output: Format) -> None:
    """Asks for layers again that could not be measured.

    Use it once the cause of the failures is mended. Each system measures again what failed there,
    at the same precisions. Restart its runners first: a process keeps what it found out about
    memory and libraries. Without Kafka, the next `benanza run` of a model with these layers
    measures them, if the runtime and the precision are the same.

    \b
    Examples:
      benanza retry --reason "out of memory"
      benanza retry --system SYSTEM
    """
    from benanza.operating.retry import retry_failed
    from benanza.render.units import plural

    retried = retry_failed(settings_of(data), system=system, reason=reason)
    if output == "json":
        print_json(retried)
        return
    click.echo(f"asked for {plural(retried.layers, 'layer')} again")
    if retried.waiting:
        click.echo(f"{plural(retried.waiting, 'layer')} wait, asked for before", err=True)
    if retried.without_job:
        lacking = plural(retried.without_job, "layer")
        click.echo(
            f"{lacking} failed too, without a job here: publish a model that has them", err=True
        )
