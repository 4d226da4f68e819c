"""`benanza prune`: makes the embedded log smaller."""

from pathlib import Path

import click

from benanza.commands.options import Format, data_option, format_option, print_json
from benanza.commands.startup import settings_of


@click.command()
@data_option
@format_option
def prune(data: Path | None, output: Format) -> None:
    """Takes out of the embedded log what has been replaced since.

    That is what Kafka would drop: of graphs, jobs and bounds all but the last event of each, and
    layer events of over a week ago. Nothing that a step has still to read goes. The store keeps
    the history of bounds; a store that is made anew from the log has it from here on only.

    \b
    Examples:
      benanza prune
      benanza prune --data data/demo --format json
    """
    from benanza.operating.prune import prune_log
    from benanza.render.units import plural

    pruned = prune_log(settings_of(data))
    if output == "json":
        print_json(pruned)
    else:
        before, after = pruned.bytes_before / 1e6, pruned.bytes_after / 1e6
        events = plural(pruned.events, "event")
        click.echo(f"pruned {events}: the log has {after:,.1f} MB instead of {before:,.1f}")
