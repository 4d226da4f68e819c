"""How far a group is, asked from outside it, over a real broker."""

from collections.abc import Iterator

import pytest
from kafka.errors import CoordinatorNotAvailableError

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Partition
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.consumer import as_topic_partition
from benanza_backbone.kafka.errors import CoordinatorAwaitedError
from benanza_backbone.kafka.group import GroupProgress, PartitionProgress
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_schemas.topics import BOUNDS, RESULTS
from tests.backbone.event_log.event_log_contract import numbered
from tests.benanza.processes import until
from tests.kafka_broker import KafkaBroker

FIRST, SECOND = Partition(BOUNDS, 0), Partition(RESULTS, 0)


@pytest.fixture
def log(kafka: KafkaConnection) -> Iterator[KafkaEventLog]:
    with KafkaEventLog(kafka) as log:
        yield log


def test_it_goes_from_where_nothing_is_committed_to_the_end(
    kafka: KafkaConnection, log: KafkaEventLog
) -> None:
    log.append([*numbered(BOUNDS, 7), *numbered(RESULTS, 3)])
    with GroupProgress(kafka, "some-group") as group:
        assert group.of([]) == {}
        assert group.of([FIRST, SECOND]) == {
            FIRST: PartitionProgress(0, 7),
            SECOND: PartitionProgress(0, 3),
        }
        with log.consumer("some-group", [BOUNDS]) as consumer:
            taken = 0
            while taken < 5:
                taken += len(consumer.poll(limit=5 - taken, timeout=1.0))
            consumer.commit()
        found = group.of([FIRST, SECOND])
    assert found == {FIRST: PartitionProgress(5, 7), SECOND: PartitionProgress(0, 3)}
    assert [each.waiting() for each in found.values()] == [2, 3]


def test_records_that_are_not_kept_any_more_do_not_wait(
    kafka: KafkaConnection, log: KafkaEventLog
) -> None:
    log.append(numbered(RESULTS, 7))
    with AdminClient(kafka) as admin:
        admin.delete_records({as_topic_partition(kafka, SECOND): 4})
    with GroupProgress(kafka, "some-group") as group:
        assert group.of([SECOND]) == {SECOND: PartitionProgress(4, 7)}


def test_a_cluster_that_has_no_coordinator_yet_counts_as_one_that_answers(
    kafka: KafkaConnection, log: KafkaEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append(numbered(BOUNDS, 2))

    def not_yet(*_: object) -> None:
        raise CoordinatorNotAvailableError("FindCoordinatorResponse error for GROUP/some-group")

    with GroupProgress(kafka, "some-group") as group:
        with monkeypatch.context() as starting:
            starting.setattr("benanza_backbone.kafka.group.COORDINATOR_S", 0.3)
            starting.setattr(AdminClient, "list_group_offsets", not_yet)
            with pytest.raises(CoordinatorAwaitedError):
                group.of([FIRST])
        assert group.of([FIRST]) == {FIRST: PartitionProgress(0, 2)}


@pytest.mark.slow
def test_a_broker_that_comes_back_is_asked_again(kafka_broker: KafkaBroker) -> None:
    kafka = KafkaConnection(bootstrap=(kafka_broker.bootstrap,))
    with KafkaEventLog(kafka) as log:
        log.append(numbered(BOUNDS, 2))
    with GroupProgress(kafka, "some-group") as group:
        until(lambda: answers(group))
        assert group.of([FIRST]) == {FIRST: PartitionProgress(0, 2)}
        kafka_broker.kill()
        with pytest.raises(BenanzaError):
            group.of([FIRST])
        kafka_broker.start()
        until(lambda: answers(group))
        assert group.of([FIRST]) == {FIRST: PartitionProgress(0, 2)}


def answers(group: GroupProgress) -> bool:
    try:
        return bool(group.of([FIRST]))
    except BenanzaError:
        return False
