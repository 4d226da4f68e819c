"""What is remembered of imported files holds of the log that they came into."""

from pathlib import Path

from benanza.importing.remembered import FileCounts, Remembered
from benanza_backbone.event_log.event_log import Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_schemas.codec import encode
from benanza_schemas.events import ModelForgotten
from benanza_schemas.topics import CHECKPOINTS, RESULTS
from tests.benanza.data_folder import settings_in
from tests.schemas.samples import NOON

COUNTED = FileCounts(frozenset({"a"}), 3, 0, 0)


def messages(value: bytes, count: int) -> list[Message]:
    return [Message(RESULTS, b"", value)] * count


def test_of_another_log_nothing_is_remembered(tmp_path: Path) -> None:
    """Also if that has grown longer since; what is appended to the same one changes nothing."""
    settings = settings_in(tmp_path)
    with SqliteEventLog(tmp_path / "log") as log:
        log.append(messages(b"one", 3))
        Remembered(settings, log).remember({"f": COUNTED})
        log.append(messages(b"more", 3))
        assert Remembered(settings, log).counted("f") == COUNTED
        assert Remembered(settings, log).counted("g") is None
    with SqliteEventLog(tmp_path / "other") as other:
        assert Remembered(settings, other).counted("f") is None
        other.append(messages(b"two", 9))
        assert Remembered(settings, other).counted("f") is None


def test_once_a_model_is_forgotten_nothing_is_remembered(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    forgotten = encode(ModelForgotten(event_id="0" * 32, model_id="0" * 32, forgotten_at=NOON))
    with SqliteEventLog(tmp_path / "log") as log:
        Remembered(settings, log).remember({"f": COUNTED})
        assert Remembered(settings, log).counted("f") == COUNTED
        log.append([Message(CHECKPOINTS, b"", forgotten)])
        assert Remembered(settings, log).counted("f") is None
