"""`benanza dead-letters` over both logs: what failed is listed, shown, replayed and dropped."""

import json
import os
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from benanza.cli import cli
from benanza.operating.dead_letters import AT_ONCE
from benanza_backbone.clock import now
from benanza_backbone.event_log.event_log import EventLog, Message, Partition, Record
from benanza_backbone.service.dead_letter import MAX_KEPT_BYTES, dead_letter
from benanza_backbone.service.processor import as_message
from benanza_backbone.service.step import Step
from benanza_backbone.settings import load
from benanza_dedupe.step import dedupe_step
from benanza_ingest.limits import Limits
from benanza_ingest.step import ingest_step
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import DeadLetter
from benanza_schemas.topics import DEAD_LETTERS, LAYERS, MODELS
from tests.backbone.sample_events import PUBLISHED
from tests.benanza.commands.conftest import Kind, opened_log

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
GARBAGE = Message(MODELS, b"key of garbage", b"\xc1 no event")
WRONG_KIND = Message(LAYERS, b"\xff\x00", encode(PUBLISHED))


def dead_letters(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["dead-letters", *arguments])


def listed(*arguments: str) -> list[dict[str, Any]]:
    result = dead_letters("list", "--format", "json", *arguments)
    assert result.exit_code == 0, result.output
    letters: list[dict[str, Any]] = json.loads(result.stdout)["dead_letters"]
    return letters


def turned(step: Step) -> None:
    """Whatever waits for a step goes through it."""
    with step:
        while step.waiting():
            step.turn(limit=100, timeout=1.0)


def letter(number: int, value: bytes = b"", topic: str = MODELS) -> DeadLetter:
    """A dead letter of ingest, as a service writes it."""
    record = Record(Partition(topic, 0), number, NOON, b"key", value)
    return dead_letter(record, "ingest", ValueError(f"reason {number}"), NOON)


@pytest.fixture
def failed(installation: Kind) -> None:
    """Ingest and dedupe have each failed at a record."""
    with opened_log() as log:
        log.append([GARBAGE, WRONG_KIND])
        turned(ingest_step(log, Limits(), now))
        turned(dedupe_step(log, now))


def values(log: EventLog, topic: str) -> list[tuple[bytes, bytes]]:
    return [(record.key, record.value) for record in log.records(topic)]


@pytest.mark.usefixtures("failed")
def test_they_are_listed_newest_first_with_service_and_reason() -> None:
    of_dedupe, of_ingest = listed()
    assert (of_ingest["service"], of_ingest["topic"], of_ingest["key"]) == (
        "ingest",
        "models",
        "key of garbage",
    )
    assert of_ingest["reason"].startswith("not MessagePack")
    assert (of_dedupe["service"], of_dedupe["topic"], of_dedupe["key"]) == (
        "dedupe",
        "layers",
        "ff00",
    )
    assert of_dedupe["reason"].startswith("dedupe takes no ModelPublished; in layers it should be")
    assert {of_ingest["state"], of_dedupe["state"]} == {"open"}
    assert listed("--service", "ingest") == [of_ingest]
    assert listed("--service", "runner") == []
    assert listed("--limit", "1") == [of_dedupe]
    text = dead_letters("list", "--limit", "1").stdout
    assert of_dedupe["id"] in text
    assert of_ingest["id"] not in text
    assert "and 1 more" in text


@pytest.mark.usefixtures("failed")
def test_one_is_shown_with_its_event_or_its_bytes() -> None:
    of_dedupe, of_ingest = listed()
    shown = json.loads(dead_letters("show", of_dedupe["id"], "--format", "json").stdout)
    assert shown["dead_letter"] == of_dedupe
    assert shown["event"]["type"] == "ModelPublished"
    assert shown["event"]["event_id"] == PUBLISHED.event_id
    assert shown["hex"] == ""
    shown = json.loads(dead_letters("show", of_ingest["id"], "--format", "json").stdout)
    assert (shown["event"], shown["hex"]) == (None, GARBAGE.value.hex())
    assert shown["undecodable"].startswith("not MessagePack")
    text = dead_letters("show", of_ingest["id"]).stdout
    assert GARBAGE.value.hex() in text
    assert "not MessagePack" in text
    assert '"type": "ModelPublished"' in dead_letters("show", of_dedupe["id"]).stdout


@pytest.mark.usefixtures("failed")
def test_a_replay_puts_the_original_bytes_back_and_closes_it() -> None:
    of_dedupe, of_ingest = listed()
    result = dead_letters("replay", of_ingest["id"])
    assert (result.exit_code, result.stdout) == (0, f"replayed {of_ingest['id']}\n")
    with opened_log() as log:
        original = (GARBAGE.key, GARBAGE.value)
        assert values(log, MODELS) == [original, original]
    assert listed() == [of_dedupe]
    _, settled = listed("--all")
    assert settled | {"state": "open", "settled_at": None} == of_ingest
    assert settled["state"] == "replayed"
    again = dead_letters("replay", of_ingest["id"])
    assert again.exit_code == 1
    assert again.stderr.startswith(f"error: dead letter {of_ingest['id']} was replayed at ")


@pytest.mark.usefixtures("failed")
def test_what_fails_again_is_a_new_dead_letter() -> None:
    before = {each["id"] for each in listed()}
    assert dead_letters("replay", "--all", "--service", "ingest").exit_code == 0
    with opened_log() as log:
        turned(ingest_step(log, Limits(), now))
    newest, *_ = listed()
    assert newest["service"] == "ingest"
    assert newest["id"] not in before


@pytest.mark.usefixtures("failed")
def test_first_digits_name_one_and_the_list_says_which_log_it_read(installation: Kind) -> None:
    of_dedupe, of_ingest = listed()
    other = of_dedupe["id"]
    begins = (of_ingest["id"][:length] for length in range(1, 33))
    digits = next(each for each in begins if not other.startswith(each))
    assert of_ingest["id"] in dead_letters("show", digits).stdout
    assert dead_letters("drop", digits, of_ingest["id"]).stdout == f"dropped {of_ingest['id']}\n"
    settings = load(os.environ)
    where = (
        f"the embedded log in {settings.data}"
        if settings.kafka is None
        else f"Kafka at {settings.kafka.shown()}, prefix {settings.kafka.prefix}"
    )
    assert dead_letters("list").stdout.endswith(f"in {where}\n")
    assert json.loads(dead_letters("list", "--format", "json").stdout)["log"] == where
    lost = dead_letters("show", "no-such-id")
    assert lost.stderr.startswith(f"error: there is no dead letter no-such-id in {where}; ")


@pytest.mark.usefixtures("failed")
def test_what_is_dropped_is_gone_from_the_list_and_nothing_else() -> None:
    result = dead_letters("drop", "--all", "--format", "json")
    dropped = json.loads(result.stdout)
    assert (result.exit_code, dropped["action"]) == (0, "dropped")
    assert len(dropped["dead_letters"]) == 2
    assert listed() == []
    assert [each["state"] for each in listed("--all")] == ["dropped", "dropped"]
    assert dead_letters("list").stdout.startswith("no dead letters in ")
    with opened_log() as log:
        assert len(values(log, MODELS)) == 1
    assert dead_letters("drop", "--all").stdout == "no dead letters are open\n"


def test_the_same_record_failing_anew_opens_it_again(installation: Kind) -> None:
    """As after `benanza replay`: it is the same dead letter, and somebody should look again."""
    later = msgspec.structs.replace(letter(1), failed_at=NOON + timedelta(hours=1))
    for each in (letter(1), later):
        with opened_log() as log:
            log.append([as_message(each)])
        (found,) = listed()
        assert found["state"] == "open"
        assert dead_letters("drop", each.event_id).exit_code == 0
        assert listed() == []
    with opened_log() as log:
        settled = [decode(record.value).event_id for record in log.records(DEAD_LETTERS)]
    assert len(set(settled)) == 3  # The dead letter has one id, each settlement its own.


def test_many_are_replayed_in_their_order(installation: Kind) -> None:
    many = [letter(number, f"{number}".encode()) for number in range(2 * AT_ONCE + 1)]
    with opened_log() as log:
        log.append([as_message(each) for each in many])
    result = dead_letters("replay", "--all", "--format", "json")
    assert json.loads(result.stdout)["dead_letters"] == [each.event_id for each in many]
    with opened_log() as log:
        assert values(log, MODELS) == [(b"key", each.value) for each in many]
    assert listed() == []


def test_what_cannot_be_replayed_says_why_and_the_others_are(installation: Kind) -> None:
    cut = letter(1, bytes(MAX_KEPT_BYTES + 1))
    elsewhere = letter(2, topic="elsewhere")
    good = letter(3, b"good")
    with opened_log() as log:
        log.append([as_message(each) for each in (cut, elsewhere, good)])
    ids = [each.event_id for each in (cut, elsewhere, good)]
    result = dead_letters("replay", *ids, "nonsense")
    assert result.exit_code == 1
    assert result.stdout == f"replayed {good.event_id}\n"
    errors = result.stderr.splitlines()
    assert len(errors) == 3
    assert "too large to be kept whole; the original is at models:0:1" in errors[0]
    assert "the topic 'elsewhere'" in errors[1]
    assert errors[2].startswith("error: there is no dead letter nonsense in ")
    with opened_log() as log:
        assert values(log, MODELS) == [(b"key", b"good")]
    assert dead_letters("drop", "--all").exit_code == 0
    assert listed() == []


def test_a_record_that_is_no_dead_letter_is_counted(installation: Kind) -> None:
    with opened_log() as log:
        log.append([Message(DEAD_LETTERS, b"", b"\xc1"), Message(DEAD_LETTERS, b"", b"\x80")])
        log.append([Message(DEAD_LETTERS, b"", encode(PUBLISHED)), as_message(letter(1))])
    assert json.loads(dead_letters("list", "--format", "json").stdout)["unreadable"] == 3
    assert "3 records of the topic can't be read" in dead_letters("list").stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["replay"], "name the ids, or say --all"),
        (["drop", "a", "--all"], "name the ids, or say --all"),
        (["drop", "a", "--service", "ingest"], "--service goes with --all"),
        (["list", "--service", "nonsense"], "'nonsense' is not one of"),
        (["list", "--limit", "0"], "--limit"),
    ],
)
def test_wrong_use_is_exit_status_2(arguments: list[str], complaint: str) -> None:
    result = dead_letters(*arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_an_unknown_one_cannot_be_shown(installation: Kind) -> None:
    result = dead_letters("show", "nonsense")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("error: there is no dead letter nonsense in ")
