"""The event log on a real Kafka broker."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log import EventLog, Message, Partition
from benanza_backbone.kafka_connection import KafkaConnection
from benanza_backbone.kafka_consumer import SESSION_MS
from benanza_backbone.kafka_log import KafkaEventLog
from benanza_schemas.topics import GRAPHS, JOBS, PARTITIONS, RESULTS
from tests.backbone.event_log_contract import EventLogContract, drain, numbered, values
from tests.kafka_broker import KafkaBroker


class TestKafkaEventLog(EventLogContract):
    @pytest.fixture
    def open_log(self, kafka: KafkaConnection) -> Callable[[], EventLog]:
        return lambda: KafkaEventLog(kafka)


def test_the_projects_topics_are_made_with_their_partitions(kafka: KafkaConnection) -> None:
    with KafkaEventLog(kafka) as log:
        assert len(log.end_offsets(JOBS)) == PARTITIONS[JOBS]


def test_records_of_all_partitions_arrive_each_key_in_order(kafka: KafkaConnection) -> None:
    keys = [str(key).encode() for key in range(50)]
    with KafkaEventLog(kafka) as log:
        log.append([message for key in keys for message in numbered(JOBS, 5, key)])
        with log.consumer("all", [JOBS]) as consumer:
            records = drain(consumer)
            assert len(consumer.position()) == PARTITIONS[JOBS]
    assert len({record.partition for record in records}) > 1
    for key in keys:
        assert values(r for r in records if r.key == key) == [b"0", b"1", b"2", b"3", b"4"]


def test_one_member_has_graphs_and_results_and_the_other_stands_by(kafka: KafkaConnection) -> None:
    """Whoever makes bounds needs both."""
    with KafkaEventLog(kafka) as log, KafkaEventLog(kafka) as other:
        members = [each.consumer("analyzer", [GRAPHS, RESULTS]) for each in (log, other)]
        deadline = time.monotonic() + 60
        while any(member.rebalances() == 0 for member in members):
            assert time.monotonic() < deadline
            for member in members:
                member.poll(limit=1, timeout=0.1)
        held = sorted(sorted(member.position()) for member in members)
        assert held == [[], [Partition(GRAPHS, 0), Partition(RESULTS, 0)]]
        for member in members:
            member.close()


@pytest.mark.slow
def test_who_is_busy_for_longer_than_a_session_keeps_its_partitions(kafka: KafkaConnection) -> None:
    with KafkaEventLog(kafka) as log:
        log.append(numbered("jobs", 2))
        with log.consumer("runner", ["jobs"]) as consumer:
            (first,) = consumer.poll(limit=1, timeout=30)
            before = consumer.rebalances()
            time.sleep(1.3 * SESSION_MS / 1000)
            consumer.commit()
            assert values(drain(consumer)) == [b"1"]
            assert consumer.rebalances() == before
        with log.consumer("runner", ["jobs"]) as consumer:
            assert first.value not in values(drain(consumer))


@pytest.mark.slow
def test_a_broker_that_is_away_is_named_and_found_again(
    kafka_bootstrap: str, tmp_path: Path
) -> None:
    del kafka_bootstrap  # so that this is skipped where no broker can be had
    broker = KafkaBroker(tmp_path)
    broker.start()
    connection = KafkaConnection(bootstrap=(broker.bootstrap,))
    try:
        with KafkaEventLog(connection) as log, log.consumer("g", ["t"]) as consumer:
            log.append(numbered("t", 1))
            broker.kill()
            with pytest.raises(BenanzaError, match=f"{broker.bootstrap}.*start it"):
                consumer.lag()
            broker.start()
            log.append([Message("t", b"", b"1")])
            assert values(drain(consumer)) == [b"0", b"1"]
            consumer.commit()
    finally:
        broker.stop()


def test_a_broker_that_is_not_there_is_an_error_soon() -> None:
    started = time.monotonic()
    with pytest.raises(BenanzaError, match=r"127.0.0.1:1 .*start it, or mend BENANZA_KAFKA"):
        KafkaEventLog(KafkaConnection(bootstrap=("127.0.0.1:1",)))
    assert time.monotonic() - started < 60


def test_the_embedded_mode_does_without_kafkas_client() -> None:
    code = "import sys, benanza.cli, benanza.pipeline; sys.exit('kafka' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
