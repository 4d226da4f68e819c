"""Whether Kafka answers, and has the topics that the services need."""

from benanza.event_logs import quieten_kafka
from benanza.render.units import plural
from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka_clients import AdminClient
from benanza_backbone.kafka_connection import KafkaConnection
from benanza_backbone.kafka_errors import kafka_errors_mended
from benanza_schemas.topics import PARTITIONS

TIMEOUT_MS = 5000


def check_kafka(connection: KafkaConnection) -> str:
    """What answers, in a line for people; it takes a few seconds at most.

    Raises `BenanzaError` if no broker answers, or if a topic is missing or has another number
    of partitions than the services count on.
    """
    quieten_kafka()
    limits = {"request_timeout_ms": TIMEOUT_MS, "bootstrap_timeout_ms": TIMEOUT_MS}
    where = connection.shown()
    with kafka_errors_mended(connection), AdminClient(connection, **limits) as client:
        brokers = len(client.describe_cluster()["brokers"])
        there = {each["name"]: len(each["partitions"]) for each in client.describe_topics()}
    names = {topic: connection.topic(topic) for topic in PARTITIONS}
    found = {topic: there[name] for topic, name in names.items() if name in there}
    if missing := [topic for topic in PARTITIONS if topic not in found]:
        raise BenanzaError(
            f"Kafka at {where} lacks {plural(len(missing), 'topic')}, {', '.join(missing)}; say: "
            "benanza topics"
        )
    for topic, number in PARTITIONS.items():
        if found[topic] != number:
            raise BenanzaError(
                f"{topic} has {plural(found[topic], 'partition')} on Kafka at {where}, and the "
                f"services count on {number}: give it so many, or name another "
                "BENANZA_KAFKA_PREFIX"
            )
    return f"Kafka answers at {where} with {plural(brokers, 'broker')}; all topics are there"
