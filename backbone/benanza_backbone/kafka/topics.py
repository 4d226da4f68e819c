"""Makes the topics on Kafka, with their partitions, compaction and retention."""

import time
from collections.abc import Sequence

from kafka.admin import ConfigFilterType, ConfigResource, ConfigResourceType
from kafka.errors import (
    KafkaTimeoutError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    for_code,
)

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import TIMEOUT_MS, KafkaConnection
from benanza_backbone.kafka.errors import kafka_errors_mended
from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.topics import COMPACTED, KEPT_FOR, PARTITIONS

MAX_RECORD_BYTES = MAX_EVENT_BYTES + 1_000_000
"""An event with its key, and what Kafka adds."""

ASK_AGAIN_S = 0.2

MADE_WITHIN_S = 60.0
"""How long brokers may take over topics that they said they make: for each partition they wait for
their disks, which others may keep busy."""

UNCOMPRESSED = {"compression.type": "uncompressed"}
"""The brokers unpack what comes compressed, and refuse it if it is too large then. Half a megabyte
may become gigabytes."""


def create_topics(connection: KafkaConnection) -> list[str]:
    """Makes those topics that aren't there; their names, without the prefix.

    Those that are there stay as they are. The brokers say how many copies of a topic there are.
    Raises `BenanzaError` if Kafka can't be reached, refuses, or hasn't made one within
    `MADE_WITHIN_S`.
    """
    return create_missing(connection, PARTITIONS)


def create_missing(connection: KafkaConnection, partitions: dict[str, int]) -> list[str]:
    """`create_topics` for these topics with these numbers of partitions."""
    wanted = {
        connection.topic(topic): {"num_partitions": number, "configs": topic_settings(topic)}
        for topic, number in partitions.items()
    }
    with kafka_errors_mended(connection), AdminClient(connection) as admin:
        answer = admin.create_topics(wanted, raise_errors=False)
        made = []
        for topic in answer["topics"]:
            error = for_code(topic["error_code"])
            if topic["error_code"] == 0:
                made.append(topic["name"])
            elif error is not TopicAlreadyExistsError:
                raise error(f"{topic['name']}: {topic['error_message']}")
        try:
            if made:
                admin.wait_for_topics(made, timeout_ms=round(MADE_WITHIN_S * 1000))
            if others := sorted(wanted.keys() - set(made)):
                _await_known(admin, others)
        except KafkaTimeoutError as error:
            raise BenanzaError(
                f"Kafka at {connection.shown()} takes more than {MADE_WITHIN_S:g} s to make topics "
                f"({' '.join(str(error).split())}); see whether its brokers' disks keep up, and "
                "try again"
            ) from error
    return [name.removeprefix(connection.prefix) for name in made]


def _await_known(admin: AdminClient, names: Sequence[str]) -> None:
    """Returns when the broker that is asked knows of these topics, which are there: others may have
    made them a moment ago. Raises `KafkaTimeoutError` after `MADE_WITHIN_S`.
    """
    deadline = time.monotonic() + MADE_WITHIN_S
    while unknown := [
        topic["name"]
        for topic in admin.describe_topics(names)
        if topic["error_code"] == UnknownTopicOrPartitionError.errno
    ]:
        if time.monotonic() > deadline:
            raise KafkaTimeoutError(f"no broker knows of {', '.join(unknown)}")
        time.sleep(ASK_AGAIN_S)


def alter_compressed(connection: KafkaConnection) -> list[str]:
    """Has those topics that are there store what comes compressed as it was before; the names of
    those that didn't, without the prefix.

    Raises `BenanzaError` if Kafka can't be reached or refuses.
    """
    with kafka_errors_mended(connection), AdminClient(connection) as admin:
        names = _compressed(connection, admin)
        wanted = [ConfigResource(ConfigResourceType.TOPIC, name, UNCOMPRESSED) for name in names]
        answer = admin.alter_configs(wanted)["topic"] if wanted else {}
        for name, result in answer.items():
            if result != "OK":
                raise BenanzaError(
                    f"Kafka doesn't let this user set compression.type of {name} ({result}); have "
                    "an administrator set it to uncompressed"
                )
        deadline = time.monotonic() + TIMEOUT_MS / 1000
        while names and _compressed(connection, admin) and time.monotonic() < deadline:
            # The brokers learn of it one after the other.
            time.sleep(ASK_AGAIN_S)
    return [name.removeprefix(connection.prefix) for name in names]


def _compressed(connection: KafkaConnection, admin: AdminClient) -> list[str]:
    """Those topics that are stored compressed if that's how their records come."""
    ((setting, wanted),) = UNCOMPRESSED.items()
    names = map(connection.topic, PARTITIONS)
    asked = [ConfigResource(ConfigResourceType.TOPIC, name, [setting]) for name in names]
    told = admin.describe_configs(asked, config_filter=ConfigFilterType.ALL)["topic"]
    return [name for name in told if told[name][setting]["value"] != wanted]


def topic_settings(topic: str) -> dict[str, str]:
    """How long a topic is kept, and what fits into it, as Kafka writes it.

    Source: https://kafka.apache.org/documentation/#topicconfigs
    """
    settings = {
        "max.message.bytes": str(MAX_RECORD_BYTES),
        # By the brokers' clock: they refuse a record whose sender's clock is an hour ahead, and
        # delete early what seems old.
        "message.timestamp.type": "LogAppendTime",
    } | UNCOMPRESSED
    if topic in COMPACTED:
        return settings | {"cleanup.policy": "compact"}
    kept = KEPT_FOR.get(topic)
    retention_ms = "-1" if kept is None else f"{kept.total_seconds() * 1000:.0f}"
    return settings | {"cleanup.policy": "delete", "retention.ms": retention_ms}
