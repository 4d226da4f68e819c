"""Whatever is decoded can be shown: every command says what it has, or in one line what is wrong.

One folder holds events at the limits of what is allowed, events that don't fit each other, and
records that are no events.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from unicodedata import category

import msgspec
import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza.operating.retry import jobs_of
from benanza.running.counting import count_layers
from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import load
from benanza_schemas.events import AnyEvent, FrameworkCall, Missing, ModelPublished, RunTimes
from benanza_schemas.limits import LAST_TIME, MAX_WHOLE
from benanza_schemas.topics import RESULTS, TOPICS
from tests.backbone.sample_events import (
    CHECKPOINT,
    CONV_ID,
    EVERY_KIND,
    MODEL,
    MODEL_ID,
    PROFILED,
    SYSTEM,
    WITNESSED,
    bound,
)
from tests.extreme_events import KINDS, Extremes

pytestmark = pytest.mark.integration

EVENTS_OF_A_KIND = int(os.environ.get("BENANZA_EXTREME_EVENTS", "5"))
"""More of them take longer."""

NOWHERE = "8" * 32
"""The id of an architecture that has no graph, and of its model."""

TOO_FAST = msgspec.structs.replace(
    bound(cause="a" * 32, at=9, sequential_us=1e60, fusion=True),
    computed_at=LAST_TIME,
    batch=2**53,
    measured=(0, MAX_WHOLE),
    missing=(Missing("\x1b[31m", (MAX_WHOLE, 9)),),
    cover=("f" * 32, CONV_ID),
    critical_path=(MAX_WHOLE, 5),
    roofline_us=1e60,
    attainable_us=0.0,
    attainable_error_us=0.0,
)
"""A bound of layers that its architecture doesn't have."""

_replace = msgspec.structs.replace
MISFITS: tuple[AnyEvent, ...] = (
    TOO_FAST,
    _replace(TOO_FAST, event_id="1" * 32, fusion=False),
    _replace(TOO_FAST, event_id="2" * 32, architecture_id=NOWHERE),
    _replace(CHECKPOINT, event_id="3" * 32, name="few", layer_names=("one",)),
    _replace(CHECKPOINT, event_id="4" * 32, model_id="9" * 32, layer_names=("many",) * 50),
    _replace(CHECKPOINT, event_id="5" * 32, model_id=NOWHERE, architecture_id=NOWHERE),
    _replace(WITNESSED, event_id="6" * 32, bound_id=TOO_FAST.event_id, calls=MAX_WHOLE),
    _replace(
        PROFILED,
        event_id="7" * 32,
        profiled_at=LAST_TIME,
        times=RunTimes(2.0**53, 2.0**53, ()),
        calls=(
            FrameworkCall("\x00\n", "Conv", (MAX_WHOLE, 0), 2.0**53, 2.0**53, 2.0**53),
            FrameworkCall("", "", (), 0.0, 0.0, 0.0),
        ),
    ),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data: Path = tmp_path_factory.mktemp("extreme") / "data"
    data.mkdir()
    extremes = Extremes(seed=2, ids=(NOWHERE, "9" * 32, "0" * 32))
    events: list[AnyEvent] = [*EVERY_KIND, *MISFITS]
    events += [extremes.event(kind) for kind in KINDS for _ in range(EVENTS_OF_A_KIND)]
    with SqliteEventLog(load({"BENANZA_DATA": str(data)}).event_log) as log:
        # What is sampled has no file that could be fetched.
        kept = [event for event in events if not isinstance(event, ModelPublished)]
        log.append([as_message(event) for event in kept])
        log.append([Message(topic, b"\xff", b"no event") for topic in TOPICS])
        log.append([Message(RESULTS, CONV_ID.encode(), b"no event")])
    return data


@pytest.fixture
def log(folder: Path) -> Iterator[EventLog]:
    with SqliteEventLog(load({"BENANZA_DATA": str(folder)}).event_log) as log:
        yield log


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("bounds",),
        ("layers",),
        ("dead-letters", "list"),
        *(
            (command, model)
            for command in ("history", "explain", "what-if", "spec")
            for model in (MODEL_ID, NOWHERE)
        ),
        ("explain", "9" * 32),
        ("questions", MODEL_ID),
        ("advise", MODEL_ID),
    ],
    ids=" ".join,
)
def test_a_command_shows_what_it_has_or_says_what_is_wrong(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    result = CliRunner().invoke(cli, [*arguments, "--data", str(folder)])
    _check(result.exception, result.output)
    if result.exit_code == 1:
        errors = [line for line in result.output.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1, result.output


def test_a_report_is_written(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    result = CliRunner().invoke(cli, ["report", MODEL_ID, "-o", str(page), "--data", str(folder)])
    _check(result.exception, result.output)
    assert result.exit_code == 0, result.output
    assert page.exists()


def test_what_a_run_reads_goes_on_past_records_that_are_no_events(log: EventLog) -> None:
    ends = log.end_offsets(RESULTS)
    counts = count_layers(log, [MODEL], SYSTEM.system_id, ("fp32",), ends)
    assert counts.known == 2  # Conv and Relu
    jobs, _ = jobs_of(log, [CONV_ID])
    assert set(jobs) == {CONV_ID}


def _check(exception: BaseException | None, output: str) -> None:
    assert exception is None or isinstance(exception, SystemExit), exception
    escaped = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of characters, ends of lines
    assert all(category(each) not in escaped for each in output.replace("\n", "")), output
