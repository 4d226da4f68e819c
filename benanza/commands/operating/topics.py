"""`benanza topics`: makes Kafka's topics."""

import click

from benanza.commands.options import Format, format_option, print_json
from benanza.commands.startup import settings_of


@click.command()
@format_option
def topics(output: Format) -> None:
    """Makes the topics that Kafka lacks.

    They get the partitions, compaction and retention that the services count on. Say it once,
    before the first service starts; saying it again changes nothing. Topics that exist are set to
    store nothing compressed, and are checked: one that loses events is an error.

    \b
    Examples:
      export BENANZA_KAFKA=localhost:9092
      benanza topics
    """
    from benanza_backbone.settings import kafka_of

    connection = kafka_of(settings_of(None))  # says what lacks before it is imported
    from benanza.operating.kafka_check import check_kafka
    from benanza.results.operating import MadeTopics
    from benanza_backbone.kafka.topics import alter_compressed, create_topics

    made = create_topics(connection)
    altered = alter_compressed(connection)
    check_kafka(connection)
    if output == "json":
        print_json(MadeTopics(made=tuple(made), altered=tuple(altered)))
    else:
        lines = [f"made {topic}" for topic in made]
        lines += [f"{topic} stores nothing compressed from now on" for topic in altered]
        click.echo("\n".join(lines) or "all topics are there")
