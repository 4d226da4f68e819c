"""Whether Kafka answers, and has the topics that the services need."""

from collections.abc import Iterator

from kafka.admin import ConfigFilterType, ConfigResource, ConfigResourceType

from benanza.render.units import plural
from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.errors import kafka_errors_mended
from benanza_backbone.kafka.topics import topic_settings
from benanza_backbone.log import quieten_kafka
from benanza_schemas.topics import PARTITIONS

TIMEOUT_MS = 5000


def check_kafka(connection: KafkaConnection) -> str:
    """What answers, in a line for people; it takes a few seconds at most.

    Raises `BenanzaError` if no broker answers, or if a topic is missing, has another number of
    partitions than the services count on, or loses events that they count on.
    """
    quieten_kafka()
    limits = {"request_timeout_ms": TIMEOUT_MS, "bootstrap_timeout_ms": TIMEOUT_MS}
    where = connection.shown()
    names = {topic: connection.topic(topic) for topic in PARTITIONS}
    with kafka_errors_mended(connection), AdminClient(connection, **limits) as client:
        brokers = len(client.describe_cluster()["brokers"])
        there = {
            described["name"]: len(described["partitions"])
            for described in client.describe_topics()
        }
        settings = _settings(client, [name for name in names.values() if name in there])
    partitions = {topic: there[name] for topic, name in names.items() if name in there}
    if missing := [topic for topic in PARTITIONS if topic not in partitions]:
        raise BenanzaError(
            f"Kafka at {where} lacks {plural(len(missing), 'topic')}, {', '.join(missing)}; say: "
            "benanza topics"
        )
    for topic, number in PARTITIONS.items():
        if partitions[topic] != number:
            raise BenanzaError(
                f"{topic} has {plural(partitions[topic], 'partition')} on Kafka at {where}, and "
                f"the services count on {number}: give it so many, or name another "
                "BENANZA_KAFKA_PREFIX"
            )
    if lossy := [line for topic in PARTITIONS for line in _lossy(topic, settings[names[topic]])]:
        raise BenanzaError(
            f"topics on Kafka at {where} lose what the services count on: {'; '.join(lossy)}; "
            "change it with kafka-configs.sh --alter"
        )
    return f"Kafka answers at {where} with {plural(brokers, 'broker')}; all topics are there"


def _settings(client: AdminClient, topics: list[str]) -> dict[str, dict[str, str]]:
    """Those of each of the topics that `topic_settings` speaks of, defaults included."""
    names = sorted({name for topic in PARTITIONS for name in topic_settings(topic)})
    asked = [ConfigResource(ConfigResourceType.TOPIC, topic, names) for topic in topics]
    if not asked:
        return {}
    told = client.describe_configs(asked, config_filter=ConfigFilterType.ALL)["topic"]
    return {
        topic: {name: config["value"] for name, config in configs.items()}
        for topic, configs in told.items()
    }


def _lossy(topic: str, settings: dict[str, str]) -> Iterator[str]:
    """What of a topic's settings keeps less than is wanted."""
    for name, wanted in topic_settings(topic).items():
        has = settings[name]
        if name in ("max.message.bytes", "retention.ms"):
            # -1 milliseconds are for ever.
            enough = has == "-1" or (wanted != "-1" and int(has) >= int(wanted))
        else:
            enough = has == wanted
        if not enough:
            yield f"{topic} has {name}={has}, and needs {wanted}"
