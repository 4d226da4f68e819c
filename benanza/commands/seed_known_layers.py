"""`benanza seed-known-layers`: what a dedupe service that knows nothing should know."""

import click

from benanza.commands.options import Format, format_option, print_json
from benanza.commands.startup import settings_of


@click.command("seed-known-layers")
@format_option
def seed_known_layers(output: Format) -> None:
    """Tells the dedupe service which layers have a job already.

    They are those in ClickHouse. For a Kafka in which dedupe's own topic was lost: else every
    layer that is seen again is benchmarked again. A layer that is known this way gets no job. So
    a Kafka without the topics jobs and results is better left to benchmark everything again: the
    analyzer finds no times in it for these layers, nor a system that comes later a job.

    \b
    Examples:
      export BENANZA_KAFKA=localhost:9092
      benanza seed-known-layers
    """
    from benanza.operating.seed_known_layers import seed_known_layers as seed
    from benanza.render.units import plural

    found = seed(settings_of(None))
    if output == "json":
        print_json(found)
    else:
        click.echo(f"told dedupe of {plural(found.layers, 'layer')}")
