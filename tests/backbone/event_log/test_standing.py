"""Of imported measurements those stand that no later withdrawal of their file takes back."""

from pathlib import Path

from msgspec.structs import replace

from benanza_backbone.event_log.event_log import Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.event_log.standing import (
    standing_checkpoints,
    standing_measurements,
    standing_tries,
)
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import MARK, ModelForgotten
from benanza_schemas.topics import RESULTS
from tests.backbone.sample_events import (
    CHECKPOINT,
    CONV_ID,
    CONV_MEASURED,
    RELU_MEASURED,
    SYSTEM_MEASURED,
    WITHDRAWN,
)


def test_a_withdrawal_counts_for_what_stands_before_it(tmp_path: Path) -> None:
    """A record that can't be read withdraws nothing, whatever its key."""
    imported, again = (replace(CONV_MEASURED, environment={MARK: WITHDRAWN.digest}) for _ in "12")
    other = replace(RELU_MEASURED, environment={MARK: "e" * 64})
    events = (imported, SYSTEM_MEASURED, CONV_MEASURED, other, WITHDRAWN, again)
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        log.append([as_message(event) for event in events])
        log.append([Message(RESULTS, key, b"no event") for key in (b"e" * 64, b"e")])
        found = [event for _, event in standing_measurements(log)]
        tried = [(each.fingerprint, each.measured_at) for each in standing_tries(log)]
        of_conv = [event for _, event in standing_measurements(log, {CONV_ID.encode()})]
    assert found == [CONV_MEASURED, other, again]
    assert tried == [(event.fingerprint, event.measured_at) for event in found]
    assert of_conv == [CONV_MEASURED, again]


def test_a_model_that_is_forgotten_stands_again_when_it_is_ingested_again(tmp_path: Path) -> None:
    other = replace(CHECKPOINT, model_id="d" * 32)
    forgotten = ModelForgotten(
        event_id="e" * 32, model_id=CHECKPOINT.model_id, forgotten_at=CONV_MEASURED.measured_at
    )
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        log.append([as_message(event) for event in (CHECKPOINT, CHECKPOINT, other, forgotten)])
        assert list(standing_checkpoints(log)) == [other]
        log.append([as_message(CHECKPOINT)])
        assert list(standing_checkpoints(log)) == [other, CHECKPOINT]
