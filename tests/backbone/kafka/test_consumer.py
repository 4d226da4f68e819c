"""What only a group on real brokers can show: who is thrown out, who dies, brokers that go away."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from threading import Event, Thread
from uuid import uuid4

import pytest
from kafka.errors import CoordinatorNotAvailableError

from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import Consumer, Message, Record
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.consumer import SESSION_MS, KafkaLogConsumer
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_schemas.topics import JOBS, PARTITIONS
from tests.backbone.event_log.event_log_contract import drain, numbered, values, values_of
from tests.kafka_broker import KafkaBroker

PATIENCE_S = 60.0
SHORT_SESSION_MS = 6_000
"""The least that a broker allows."""


def polled(consumer: Consumer, last: bytes) -> list[Record]:
    """What comes up to the first record of this value."""
    deadline = time.monotonic() + PATIENCE_S
    records: list[Record] = []
    while last not in values(records):
        assert time.monotonic() < deadline, values(records)
        records += consumer.poll(limit=5, timeout=0.5)
    return records


@pytest.fixture
def log(kafka: KafkaConnection) -> Iterator[KafkaEventLog]:
    with KafkaEventLog(kafka) as log:
        yield log


# Who keeps partitions and who loses them


def test_a_group_without_a_coordinator_has_no_other_members(
    kafka: KafkaConnection, log: KafkaEventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a service that is the first on a new cluster goes on waiting, and doesn't start anew."""

    def not_yet(*_: object) -> None:
        raise CoordinatorNotAvailableError("FindCoordinatorResponse error for GROUP/some-group")

    monkeypatch.setattr(AdminClient, "describe_groups", not_yet)
    with log.consumer("some-group", [JOBS]) as consumer:
        assert isinstance(consumer, KafkaLogConsumer)
        assert not consumer._has_others()


@pytest.fixture
def short_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benanza_backbone.kafka.consumer.SESSION_MS", SHORT_SESSION_MS)
    monkeypatch.setattr("benanza_backbone.kafka.consumer.HEARTBEAT_MS", 1_000)


class Polling(Thread):
    """Another member, which takes what it is given."""

    def __init__(self, consumer: Consumer) -> None:
        super().__init__()
        self.taken: list[Record] = []
        self._consumer = consumer
        self._enough = Event()

    def run(self) -> None:
        while not self._enough.is_set():
            self.taken += self._consumer.poll(limit=100, timeout=0.1)

    def end(self) -> None:
        self._enough.set()
        self.join()


class Joining(Thread):
    """Another member, which joins the group that others are in."""

    def __init__(self, kafka: KafkaConnection, group: str) -> None:
        super().__init__()
        self._kafka = kafka
        self._group = group
        self._enough = Event()

    def run(self) -> None:
        with KafkaEventLog(self._kafka) as log, log.consumer(self._group, [JOBS]) as consumer:
            while not self._enough.is_set():
                consumer.poll(limit=1, timeout=0.1)

    def end(self) -> None:
        self._enough.set()
        self.join()


@pytest.mark.usefixtures("short_session")
def test_a_member_at_work_for_longer_than_its_session_stays(
    kafka: KafkaConnection, log: KafkaEventLog
) -> None:
    with log.consumer("runner", [JOBS]) as busy, log.consumer("runner", [JOBS]) as waiting:
        other = Polling(waiting)
        other.start()
        deadline = time.monotonic() + PATIENCE_S
        while len(busy.position()) != PARTITIONS[JOBS] / 2:
            assert time.monotonic() < deadline
            busy.poll(limit=1, timeout=0.1)
        share, before = busy.position(), busy.rebalances()
        log.append([Message(JOBS, str(n).encode(), b"job") for n in range(100)])
        records = busy.poll(limit=1, timeout=PATIENCE_S)
        time.sleep(1.5 * SHORT_SESSION_MS / 1000)
        busy.commit()
        records += drain(busy)
        busy.commit()
        other.end()
        assert busy.rebalances() == before
        assert busy.position().keys() == share.keys()
        assert len(records) + len(other.taken) == 100
    with log.consumer("runner", [JOBS]) as consumer:
        assert len(drain(consumer)) == len(other.taken)


@pytest.mark.usefixtures("short_session")
def test_a_member_that_hangs_is_thrown_out_and_its_late_commit_changes_nothing(
    kafka: KafkaConnection, log: KafkaEventLog
) -> None:
    log.append(numbered("jobs-of-a-test", 5))
    with KafkaEventLog(kafka, longest_turn_s=SHORT_SESSION_MS / 1000) as impatient:
        hanging = impatient.consumer("runner", ["jobs-of-a-test"])
        assert values(hanging.poll(limit=5, timeout=PATIENCE_S)) == values_of(5)
        held = hanging.rebalances()
        with log.consumer("runner", ["jobs-of-a-test"]) as other:
            assert values(polled(other, values_of(5)[-1])) == values_of(5)
            hanging.commit()
            assert sum(other.lag().values()) == 0
            hanging.poll(limit=1, timeout=1)
            assert hanging.rebalances() > held
            hanging.close()
        with log.consumer("runner", ["jobs-of-a-test"]) as consumer:
            assert values(drain(consumer)) == values_of(5)


@pytest.mark.usefixtures("short_session")
def test_a_member_that_hangs_claims_nothing_and_the_other_one_has_a_higher_claim(
    kafka: KafkaConnection, log: KafkaEventLog
) -> None:
    topics = ["graphs-of-a-test"], ["results-of-a-test"]
    log.append([*numbered("graphs-of-a-test", 1), *numbered("results-of-a-test", 3)])
    with KafkaEventLog(kafka, longest_turn_s=SHORT_SESSION_MS / 1000) as impatient:
        hanging = impatient.consumer("analyzer", *topics)
        assert len(drain(hanging)) == 4
        assert hanging.claim(1_000) == 1_000
        with log.consumer("analyzer", *topics) as other:
            # A claim commits nothing of what was polled.
            polled(other, values_of(3)[-1])
            assert len(other.whole_before()) == len(log.end_offsets("graphs-of-a-test"))
            assert {sum(read.values()) for read in other.whole_before().values()} == {0}
            drain(other)
            assert hanging.claim(2_000) is None
            assert other.claim(0) == 1_001
            other.commit()
            hanging.poll(limit=1, timeout=1)
            hanging.close()
        with log.consumer("analyzer", *topics) as consumer:
            assert drain(consumer) == []
            assert consumer.claim(0) == 1_002


def test_a_member_that_waits_for_a_busy_one_has_nothing_to_do(
    kafka: KafkaConnection, log: KafkaEventLog
) -> None:
    """An agent that waited so for another one's evaluation ended itself: records wait in what it
    held before, and none is processed.
    """
    with log.consumer("agents", [JOBS]) as busy, log.consumer("agents", [JOBS]) as waiting:
        deadline = time.monotonic() + PATIENCE_S
        while not (busy.lag() and waiting.lag()):  # both have a share
            assert time.monotonic() < deadline
            for member in (busy, waiting):
                member.poll(limit=1, timeout=0.1)
        third = Joining(kafka, "agents")
        third.start()
        while waiting.lag():  # until it hears that all have to join again
            assert time.monotonic() < deadline
            waiting.poll(limit=1, timeout=0.1)
        log.append([Message(JOBS, str(n).encode(), b"job") for n in range(100)])
        waiting.poll(limit=1, timeout=1.0)
        assert waiting.lag() == {}
        while not (busy.lag() and waiting.lag()):  # once the busy one joins, all have a share
            assert time.monotonic() < deadline
            for member in (busy, waiting):
                member.poll(limit=1, timeout=0.1)
        third.end()


MEMBER = """
import sys
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog

log = KafkaEventLog(KafkaConnection(bootstrap=(sys.argv[1],), prefix=sys.argv[2]))
consumer = log.consumer("runner", ["jobs-of-a-test"])
print(len(consumer.poll(limit=5, timeout=30)), flush=True)
sys.stdin.read()
"""


def test_after_a_kill_work_goes_on_elsewhere_within_20_seconds(
    kafka: KafkaConnection, log: KafkaEventLog
) -> None:
    log.append(numbered("jobs-of-a-test", 5))
    command = [sys.executable, "-c", MEMBER, kafka.bootstrap[0], kafka.prefix]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as member:
        assert member.stdout
        assert member.stdout.readline() == b"5\n"
        with log.consumer("runner", ["jobs-of-a-test"]) as other:
            assert other.poll(limit=5, timeout=0.1) == []
            member.kill()
            killed = time.monotonic()
            records = other.poll(limit=5, timeout=PATIENCE_S)
            assert time.monotonic() - killed < 20
            assert SESSION_MS < 20_000
    assert values(records) == values_of(5)


# Brokers that go away


def test_a_broker_that_is_killed_and_comes_back_loses_nothing(
    kafka_broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benanza_backbone.kafka.log.DELIVERY_MS", 4_000)
    monkeypatch.setattr("benanza_backbone.kafka.connection.TIMEOUT_MS", 2_000)
    monkeypatch.setattr("benanza_backbone.kafka.consumer.TIMEOUT_MS", 2_000)
    connection = KafkaConnection(bootstrap=(kafka_broker.bootstrap,), prefix=f"{uuid4().hex}-")
    with KafkaEventLog(connection) as log, log.consumer("group", ["topic"]) as consumer:
        log.append(numbered("topic", 5))
        assert values(drain(consumer)) == values_of(5)
        consumer.commit()
        kafka_broker.kill()
        away: list[Callable[[], object]] = [
            lambda: log.append([Message("topic", b"key", b"while away")]),
            consumer.lag,
            lambda: log.end_offsets("topic"),
        ]
        assert consumer.poll(limit=1, timeout=0.5) == []
        for call in away:
            began = time.monotonic()
            with pytest.raises(
                BenanzaError, match=f"answers at {kafka_broker.bootstrap}"
            ) as caught:
                call()
            assert time.monotonic() - began < 25
            assert "\n" not in str(caught.value)
        kafka_broker.start()
        log.append([Message("topic", b"key", b"back")])
        # What append raised for may stand in the log, too.
        assert values(polled(consumer, b"back")) in ([b"back"], [b"while away", b"back"])
        consumer.commit()
    with KafkaEventLog(connection) as log, log.consumer("group", ["topic"]) as consumer:
        assert drain(consumer) == []
