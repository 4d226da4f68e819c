"""The event log on a real Kafka broker."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog, Message, Partition, Record
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.consumer import KafkaLogConsumer
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_schemas.topics import GRAPHS, JOBS, PARTITIONS, RESULTS
from tests.backbone.event_log.event_log_contract import (
    EventLogContract,
    drain,
    numbered,
    values,
)
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


def test_members_share_out_graphs_and_each_reads_all_results(
    kafka: KafkaConnection, caplog: pytest.LogCaptureFixture
) -> None:
    """Who takes partitions over goes on from the results that their last holder had committed.

    The members poll at the same time, as processes do: polled in turns, each misses the answer
    meant for it while the other polls, and has to join again.
    """
    caplog.set_level("INFO", "kafka.coordinator")
    of_each = {Partition(GRAPHS, number) for number in range(PARTITIONS[GRAPHS])}
    results = Partition(RESULTS, 0)
    with KafkaEventLog(kafka) as log, KafkaEventLog(kafka) as other, ThreadPoolExecutor(2) as pool:
        log.append(numbered(RESULTS, 3))
        members = [
            cast(KafkaLogConsumer, each.consumer("analyzer", [GRAPHS], [RESULTS]))
            for each in (log, other)
        ]
        read: list[list[Record]] = [[], []]

        def work(which: int) -> None:
            read[which] += members[which].poll(limit=10, timeout=0.5)
            members[which].commit()

        def shares() -> list[set[Partition]]:
            return [set(member.position()) for member in members]

        def committed() -> bool:
            """Whether each has committed: while the group shares out its partitions, it can't."""
            consumers = [member._consumer for member in members]
            return all(
                each.committed(at) is not None for each in consumers for at in each.assignment()
            )

        # What a member knows of its share is as old as its last poll.
        deadline = time.monotonic() + 60
        while (
            set.intersection(*shares()) != {results}
            or any(member.lag()[results] for member in members)
            or not committed()
        ):
            assert time.monotonic() < deadline, (shares(), read)
            list(pool.map(work, range(2)))
        assert set.union(*shares()) == of_each | {results}
        # The first gets further than the second, which leaves; the first reads the record again,
        # whether it takes over now, or took over before since the second was too slow to say that
        # it lives.
        del read[0][:]
        log.append([Message(RESULTS, b"key", b"3")])
        while members[0].lag()[results]:
            work(0)
        members[1].close()
        deadline = time.monotonic() + 60
        while set(members[0].position()) != of_each | {results} or len(read[0]) < 2:
            assert time.monotonic() < deadline, (shares(), read)
            work(0)
        assert values(read[0]) == [b"3", b"3"]
        before = members[0].whole_before()
        assert set(before) == of_each
        assert {each[results] for each in before.values()} == {3, 4}
        members[0].close()
    # Four where no answer comes late; without end where answers between two polls are dropped.
    joined = [each for each in caplog.messages if each.startswith("Successfully joined group")]
    assert len(joined) < 20


@pytest.mark.integration
def test_a_broker_that_is_not_there_is_an_error_soon() -> None:
    started = time.monotonic()
    with pytest.raises(BenanzaError, match=r"127.0.0.1:1 .*start it, or mend BENANZA_KAFKA"):
        KafkaEventLog(KafkaConnection(bootstrap=("127.0.0.1:1",)))
    assert time.monotonic() - started < 60


@pytest.mark.timeout(120)
def test_a_broker_that_goes_while_it_is_read_is_an_error(
    kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benanza_backbone.kafka.log.TIMEOUT_MS", 500)
    with KafkaEventLog(KafkaConnection(bootstrap=(kafka_broker.bootstrap,))) as log:
        log.append(numbered(RESULTS, 5))
        ends_told = log._reader.end_offsets

        def and_goes(partitions: Sequence[Any]) -> Any:
            told = ends_told(partitions)
            kafka_broker.kill()
            return told

        monkeypatch.setattr(log._reader, "end_offsets", and_goes)
        with pytest.raises(BenanzaError, match=r"no Kafka broker answers .*nothing from offset 0"):
            log.read(Partition(RESULTS, 0), 0, 10)


@pytest.mark.integration
def test_the_embedded_mode_does_without_kafkas_client() -> None:
    code = "import sys, benanza.cli, benanza.running.pipeline; sys.exit('kafka' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
