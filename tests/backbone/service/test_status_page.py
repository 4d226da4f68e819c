"""The page of a service: what it shows, and that nothing of it is taken for HTML."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.event_log.event_log import Partition, Record
from benanza_backbone.service.lag_report import LagReport
from benanza_backbone.service.processor import Processor, as_message
from benanza_backbone.service.recent import KEPT_NAMES, RECENT, Processed, Recent
from benanza_backbone.service.status_page import Lag, OpenLetters, Snapshot, page, snapshot
from benanza_backbone.telemetry import DEAD_LETTERS_OPEN
from benanza_schemas.events import BenchmarkRequested
from benanza_schemas.topics import JOBS
from tests.backbone.sample_events import BOUNDS, MODEL, REQUESTED

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
AT = Partition(JOBS, 3)

TAGS = set("a body code div h1 h2 html meta nav p small span style table td th title tr".split())


class Reader(HTMLParser):
    """The tags of a document, and its text."""

    def __init__(self, document: bytes) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(document.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def processed(text: str = "job", *, failure: str = "", seconds: float = 0.0) -> Processed:
    record = Record(AT, 120, NOON, text.encode(errors="replace"), b"value" * 1000)
    at = NOON + timedelta(seconds=seconds)
    event, letter = "BenchmarkRequested", "d" * 32
    return Processed(at, "runner.a.fp32", record, event, letter, failure, f"net {text}")


def shown(text: str = "some text", well: bool = True) -> Snapshot:
    """A page that has a row of everything."""
    return Snapshot(
        name="runner",
        at=NOON + timedelta(hours=27),
        started=NOON,
        ready=[("runner fp32", well, text)],
        alive=[("runner fp32 turns", True, "turned 0.5 s ago")],
        lag=[Lag("runner.a.fp32", JOBS, 1234, NOON + timedelta(hours=26, minutes=50))],
        events=[processed(text)],
        dead_letters=[processed(text, failure=text)],
        open_letters=[OpenLetters("runner", JOBS, 2)],
    )


def test_it_shows_everything() -> None:
    text = Reader(page(shown())).text
    for part in (
        "runner ready",
        "up for 1 d 3 h; as of 2026-11-22 15:00:00 UTC",
        "turned 0.5 s ago",
        "1,234",
        "10 min 0 s old",
        "jobs:3:120",
        "BenchmarkRequested",
        "net some text",
        "2 open of runner from jobs: benanza dead-letters list --service runner",
    ):
        assert part in re.sub(r"\s+", " ", text), part


def test_the_name_of_a_model_is_that_of_its_last_event_which_has_one() -> None:
    recent = Recent()
    assert recent.model_of(BOUNDS[0]) == recent.model_of(None) == ""
    assert recent.model_of(MODEL) == MODEL.name
    assert recent.model_of(BOUNDS[0]) == MODEL.name
    assert recent.model_of(msgspec.structs.replace(MODEL, name="renamed")) == "renamed"
    assert recent.model_of(BOUNDS[0]) == "renamed"
    assert recent.model_of(REQUESTED[0]) == ""


def test_so_many_names_are_kept_and_no_more() -> None:
    recent = Recent()
    models = [
        msgspec.structs.replace(MODEL, model_id=f"{n:032x}", architecture_id=f"{n:032x}")
        for n in range(KEPT_NAMES + 1)
    ]
    for model in models:
        recent.model_of(model)
    unnamed = [msgspec.structs.replace(each, name="") for each in (models[0], models[1])]
    assert [recent.model_of(each) for each in unnamed] == ["", MODEL.name]


@pytest.mark.parametrize(("well", "word"), [(True, "ready"), (False, "not ready")])
def test_one_check_that_fails_is_enough(well: bool, word: str) -> None:
    assert Reader(page(shown(well=well))).text.partition("Benanza 0")[0].strip().endswith(word)


@given(st.text(min_size=1))
def test_what_comes_from_elsewhere_stays_text(text: str) -> None:
    """Reasons and keys are of whoever publishes."""
    for hostile in (text, f"<script>{text}</script>", f"\"'><img onerror={text}>"):
        read = Reader(page(shown(hostile)))
        assert read.tags <= TAGS
        assert not any(name.startswith("on") for name in read.attributes)


def test_a_key_that_is_no_text_is_in_hexadecimal() -> None:
    key = shown()._replace(
        events=[processed()._replace(record=Record(AT, 1, NOON, b"\xff\0", b""))]
    )
    assert "ff00" in Reader(page(key)).text


def test_only_the_last_are_kept_and_failures_by_themselves() -> None:
    recent = Recent(kept=3)
    recent.add(processed(failure="no library runs it"))
    for number in range(5):
        recent.add(processed(seconds=number))
    assert [each.at.second for each in recent.events()] == [4, 3, 2]
    (letter,) = recent.dead_letters()
    assert letter.failure == "no library runs it"
    assert letter.record.value == b""


@pytest.fixture
def dead_letters_open() -> Iterator[None]:
    DEAD_LETTERS_OPEN.labels("ingest", "models").set(2)
    DEAD_LETTERS_OPEN.labels("dedupe", "layers").set(0)
    yield
    DEAD_LETTERS_OPEN.clear()


@pytest.mark.usefixtures("dead_letters_open")
def test_it_is_of_what_this_process_has_done() -> None:
    def refuse(job: BenchmarkRequested) -> list[BenchmarkRequested]:
        if job == REQUESTED[1]:
            raise ValueError("chance is against this layer")
        return []

    processor = Processor("runner.page.fp32", BenchmarkRequested, refuse, lambda: NOON)
    for offset, job in enumerate(REQUESTED[:2]):
        message = as_message(job)
        processor.process(Record(AT, offset, NOON, message.key, message.value))
    processor.process(Record(AT, 2, NOON, b"key", b"no event"))
    report = LagReport("runner.page.fp32")
    report.refresh({AT: 4, Partition(JOBS, 4): 1})
    report.began([Record(AT, 0, NOON, b"", b"")])
    found = snapshot("runner", [], [])
    report.close()
    assert Lag("runner.page.fp32", JOBS, 5, NOON) in found.lag
    assert found.open_letters == [OpenLetters("ingest", "models", 2)]
    newest = found.events[0]
    assert (newest.group, newest.record.offset) == ("runner.page.fp32", 0)
    assert newest.event == "BenchmarkRequested"
    undecodable, failed = RECENT.dead_letters()[:2]
    assert (undecodable.event, undecodable.record.offset) == ("", 2)
    assert failed.failure == "chance is against this layer"
    assert len(failed.dead_letter_id) == 32
    assert unescape(page(found).decode()).count("chance is against this layer") == 1
