"""`benanza seed-known-layers`: what a dedupe service that knows nothing should know."""

import click

from benanza.commands.options import Format, format_option, print_json
from benanza.commands.startup import settings_of


@click.command("seed-known-layers")
@format_option
def seed_known_layers(output: Format) -> None:
    """Tells dedupe which layers have a job: those in ClickHouse.

    Use it where Kafka has lost dedupe's own topic: without it, every layer that is seen again is
    benchmarked again. A layer that is announced this way gets no new job. Don't use it where Kafka
    has lost the topics jobs and results, too: the analyzer would find no times for these layers,
    and a system that comes later no jobs.

    \b
    Examples:
      export BENANZA_KAFKA=localhost:9092
      benanza seed-known-layers
    """
    from benanza.operating.seed_known_layers import seed_known_layers as seed
    from benanza.render.units import plural

    seeded = seed(settings_of(None))
    if output == "json":
        print_json(seeded)
    else:
        click.echo(f"told dedupe of {plural(seeded.layers, 'layer')}")
