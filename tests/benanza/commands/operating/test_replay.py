"""`benanza replay` over both logs: where a service goes on, and what it then reads."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benanza.cli import cli
from benanza_backbone.event_log.event_log import Consumer, EventLog, Message
from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.consumer import as_topic_partition
from benanza_backbone.service.processor import as_message
from benanza_schemas.consumer_groups import CONSUMER_GROUPS, OF_SYSTEMS, runner_group
from benanza_schemas.layer import Precision
from benanza_schemas.topics import JOBS, LAYERS, MODELS
from tests.backbone.sample_events import CONV_MEASURED, SYSTEM_MEASURED
from tests.benanza.commands.conftest import Kind, opened_log

PATIENCE_S = 30.0
FP32: Precision = "fp32"
RUNNER_GROUP = runner_group(CONV_MEASURED.system.system_id, FP32).name


def replay(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["replay", *arguments])


def replayed(*arguments: str) -> dict[str, Any]:
    result = replay(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def rest(consumer: Consumer) -> list[bytes]:
    """The values of all that the consumer still has to give."""
    values: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    while any(consumer.lag().values()):
        assert time.monotonic() < deadline
        values += [record.value for record in consumer.poll(limit=100, timeout=0.5)]
    return values


def topics_of(service: str) -> list[str]:
    """All that the service reads."""
    group = CONSUMER_GROUPS[service]
    return [*group.topics, *group.whole]


def read_all(log: EventLog, service: str) -> None:
    """The service has read and committed all that there is."""
    with log.consumer(*CONSUMER_GROUPS[service]) as consumer:
        rest(consumer)
        consumer.commit()


def read_next(service: str) -> list[bytes]:
    """What the service reads when it is started again."""
    with opened_log() as log, log.consumer(*CONSUMER_GROUPS[service]) as consumer:
        return rest(consumer)


@pytest.mark.parametrize("service", sorted(CONSUMER_GROUPS.keys() - OF_SYSTEMS))
def test_from_the_start_everything_comes_again(installation: Kind, service: str) -> None:
    messages = [Message(topic, b"key", topic.encode()) for topic in topics_of(service)]
    with opened_log() as log:
        log.append(messages)
        read_all(log, service)
    assert read_next(service) == []
    done = replayed("--service", service, "--from", "start")
    assert (done["service"], done["group"]) == (service, CONSUMER_GROUPS[service].name)
    moved = [p for p in done["partitions"] if p["before"] != p["after"]]
    assert sorted(p["topic"] for p in moved) == sorted(topics_of(service))
    assert {p["after"] for p in moved} == {0}
    assert sorted(read_next(service)) == sorted(message.value for message in messages)


@pytest.mark.parametrize("installation", ["kafka"], indirect=True)
def test_the_start_is_the_first_record_that_is_kept(
    installation: Kind, kafka: KafkaConnection
) -> None:
    """Kafka keeps layers for a week; then there is no offset 0."""
    with opened_log() as log:
        log.append([Message(LAYERS, b"key", value) for value in (b"0", b"1", b"2")])
        (partition,) = (p for p in log.end_offsets(LAYERS) if log.read(p, 0, 1))
        first = log.read(partition, 0, 3)[1].offset
        read_all(log, "dedupe")
    with AdminClient(kafka) as admin:
        admin.delete_records({as_topic_partition(kafka, partition): first})
    done = replayed("--service", "dedupe", "--from", "start")
    after = {p["partition"]: p["after"] for p in done["partitions"]}
    assert after[partition.number] == first
    assert read_next("dedupe") == [b"1", b"2"]


def three_models_a_while_apart() -> datetime:
    """Ingest has read models 0, 1 and 2; the time just before model 1 came."""
    with opened_log() as log:
        log.append([Message(MODELS, b"key", b"0")])
        time.sleep(0.05)
        before = datetime.now(UTC)
        log.append([Message(MODELS, b"key", b"1")])
        log.append([Message(MODELS, b"key", b"2")])
        read_all(log, "ingest")
    return before


def test_from_a_time(installation: Kind) -> None:
    before = three_models_a_while_apart()
    zone = datetime.fromisoformat("2026-01-01T00:00+05:30").tzinfo
    replayed("--service", "ingest", "--from", before.astimezone(zone).isoformat())
    assert read_next("ingest") == [b"1", b"2"]
    replayed("--service", "ingest", "--from", "1h")
    assert read_next("ingest") == [b"0", b"1", b"2"]


def test_a_time_never_skips_what_still_waits(installation: Kind) -> None:
    with opened_log() as log:
        log.append([Message(MODELS, b"key", b"0")])
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    done = replayed("--service", "ingest", "--from", tomorrow)
    assert all(p["before"] == p["after"] for p in done["partitions"])
    assert read_next("ingest") == [b"0"]


def test_from_an_offset_back_and_forward(installation: Kind) -> None:
    three_models_a_while_apart()
    with opened_log() as log:
        ends = log.end_offsets(MODELS)
        (partition,) = (p for p in ends if log.read(p, 0, 1))
        offsets = [record.offset for record in log.read(partition, 0, 3)]
    for index in (1, 2, 0):
        place = f"{MODELS}:{partition.number}:{offsets[index]}"
        done = replayed("--service", "ingest", "--from", place)
        moved = {(p["topic"], p["partition"]): p["after"] for p in done["partitions"]}
        assert moved[MODELS, partition.number] == offsets[index]
        assert read_next("ingest") == [b"0", b"1", b"2"][index:]
    text = replay("--service", "ingest", "--from", "start").stdout
    assert text.startswith("group ingest\n")
    assert len(text.splitlines()) == 2 + len(ends)


def test_one_runner_of_several_goes_back(installation: Kind) -> None:
    group, other = RUNNER_GROUP, runner_group("0" * 32, "fp16").name
    with opened_log() as log:
        log.append([as_message(SYSTEM_MEASURED), as_message(CONV_MEASURED)])
        log.append([Message(JOBS, b"key", b"job")])
        for name in (group, other):
            with log.consumer(name, [JOBS]) as consumer:
                rest(consumer)
                consumer.commit()
    for named, complaint in (
        ([], "name the group"),
        (["--group", other], f"no runner of group {other} has published a result"),
    ):
        result = replay("--service", "runner", "--from", "start", *named)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == f"error: {complaint}: --group is one of {group}\n"
    assert replayed("--service", "runner", "--group", group, "--from", "start")["group"] == group
    with opened_log() as log:
        for name, expected in ((group, [b"job"]), (other, [])):
            with log.consumer(name, [JOBS]) as consumer:
                assert rest(consumer) == expected


def test_a_service_at_work_is_left_alone(installation: Kind) -> None:
    """The service reads on from where it was."""
    three_models_a_while_apart()
    if installation == "embedded":
        with opened_log():
            result = replay("--service", "ingest", "--from", "start")
        assert "another benanza is at work" in result.stderr
    else:
        with opened_log() as log, log.consumer(*CONSUMER_GROUPS["ingest"]) as consumer:
            consumer.poll(1, 0.1)
            result = replay("--service", "ingest", "--from", "start")
        assert "the group ingest has members at work: stop `benanza serve ingest`" in result.stderr
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.count("\n") == 1
    assert read_next("ingest") == []


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--service", "ingest", "--from", "jobs:0:1"], "ingest doesn't read jobs; it reads mod"),
        (["--service", "ingest", "--from", "models:99:0"], "models has no partition 99; the last"),
        (["--service", "ingest", "--from", "models:0:5"], "models"),
        (["--service", "ingest", "--group", "a", "--from", "start"], "--group is for runners"),
        (["--service", "runner", "--from", "start"], "there are no results at all"),
        (["--service", "sink", "--from", "results:0:1"], "the sink can't skip"),
        (["--service", "agent", "--from", "start"], "doesn't do again what has a result"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    installation: Kind, arguments: list[str], complaint: str
) -> None:
    result = replay(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert complaint in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--service", "nonsense", "--from", "start"],
        ["--service", "ingest"],
        ["--service", "ingest", "--from", "yesterday"],
        ["--service", "ingest", "--from", "models:0"],
        ["--service", "ingest", "--from", "-1h"],
        ["--service", "ingest", "--from", "1000000d"],
    ],
)
def test_wrong_use_is_exit_status_2(arguments: list[str]) -> None:
    assert replay(*arguments).exit_code == 2
