"""`benanza topics`: makes Kafka's topics."""

import click

from benanza.commands.startup import settings_of


@click.command()
def topics() -> None:
    """Makes those of Kafka's topics that aren't there.

    With the partitions, compaction and retention that the services count on. To be said once,
    before the first service starts; saying it again changes nothing.

    \b
    Examples:
      export BENANZA_KAFKA=localhost:9092
      benanza topics
    """
    from benanza.serving import kafka_of
    from benanza_backbone.kafka_topics import create_topics

    made = create_topics(kafka_of(settings_of(None)))
    click.echo("\n".join(f"made {topic}" for topic in made) or "all topics are there")
