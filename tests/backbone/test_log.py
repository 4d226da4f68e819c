"""Log lines: all on standard error, and whole in either format."""

import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from benanza_backbone.log import configure


@pytest.fixture(autouse=True)
def restore_root() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def test_json_lines(capsys: pytest.CaptureFixture[str]) -> None:
    configure("json")
    log = logging.getLogger("benanza_ingest")
    log.info("took %d layers\nof %s", 3, "ü", extra={"event_id": "ab", "when": datetime.min})
    log.debug("too much")
    try:
        raise KeyError("gone")
    except KeyError:
        log.exception("failed")
    captured = capsys.readouterr()
    assert captured.out == ""
    took, failed = (json.loads(line) for line in captured.err.splitlines())
    assert abs((datetime.now(UTC) - datetime.fromisoformat(took.pop("time"))).total_seconds()) < 60
    assert took == {
        "level": "INFO",
        "logger": "benanza_ingest",
        "message": "took 3 layers\nof ü",
        "event_id": "ab",
        "when": "0001-01-01 00:00:00",
    }
    assert failed["level"] == "ERROR"
    assert "Traceback" in failed["exception"]
    assert "KeyError: 'gone'" in failed["exception"]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    configure("text")
    logging.getLogger("benanza_ingest").warning("slow", extra={"event_id": "ab", "topic": "models"})
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(" WARNING benanza_ingest: slow event_id=ab topic=models\n")
    assert captured.err.count("\n") == 1


def test_configuring_again_replaces(capsys: pytest.CaptureFixture[str]) -> None:
    configure("text")
    configure("json")
    logging.getLogger("benanza").info("once")
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "once"


def test_a_library_that_lowers_its_own_level_is_not_let_through(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As clickhouse-connect does for urllib3, whose retries then stood before a command's error."""
    configure("text", logging.ERROR)
    library = logging.getLogger("test_log.library")
    library.setLevel(logging.WARNING)
    library.warning("retrying")
    assert capsys.readouterr().err == ""


@pytest.fixture(scope="module")
def ran_a_command() -> None:
    configure("text", logging.ERROR)


@pytest.mark.usefixtures("ran_a_command")
def test_tests_see_warnings_although_a_fixture_of_several_has_run_a_command(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logging.getLogger("benanza.somewhere").warning("seen")
    assert caplog.messages == ["seen"]
