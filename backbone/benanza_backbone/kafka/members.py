"""Which consumer groups have processes at work, as the brokers know it."""

from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.errors import kafka_errors_mended
from benanza_backbone.kafka.group import ANSWER_MS
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, is_of


def members_of_groups(connection: KafkaConnection) -> dict[str, int]:
    """How many members each consumer group of the services has, by the group's name.

    Groups that have committed something and have no member count 0. A process that was killed stays
    a member until its session has run out. Raises `BenanzaError` if the brokers don't answer.
    """
    with (
        kafka_errors_mended(connection),
        AdminClient(
            connection, request_timeout_ms=ANSWER_MS, bootstrap_timeout_ms=ANSWER_MS
        ) as client,
    ):
        listed = (group["group_id"] for group in client.list_groups())
        named = {
            name: name.removeprefix(connection.prefix)
            for name in listed
            if name.startswith(connection.prefix)
        }
        ours = [name for name, short in named.items() if _is_ours(short)]
        told = client.describe_groups(ours) if ours else {}
        return {named[name]: len(description["members"]) for name, description in told.items()}


def _is_ours(group: str) -> bool:
    """Whether a service's group is called so: another installation's have a prefix before it."""
    return any(is_of(group, service) for service in CONSUMER_GROUPS)
