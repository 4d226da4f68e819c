"""Records that are no events are left out of what a command reads, and counted."""

import logging
from pathlib import Path

import pytest

from benanza_backbone.event_log.event_log import Message
from benanza_backbone.event_log.readable import _log_unreadable, events_of, readable
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import LayerMeasured, SystemMeasured
from benanza_schemas.topics import RESULTS
from tests.backbone.sample_events import CONV_ID, CONV_MEASURED, RELU_MEASURED

WRONG = Message(RESULTS, CONV_ID.encode(), b"no event")


def test_records_that_are_no_events_are_left_out_and_counted_in_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _log_unreadable.cache_clear()  # It may have been said before in this process.
    messages = [as_message(CONV_MEASURED), WRONG, as_message(RELU_MEASURED), WRONG]
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        log.append(messages)
        with caplog.at_level(logging.ERROR):
            found = list(readable(log, RESULTS))
            again = list(readable(log, RESULTS, keys=(CONV_ID.encode(),)))
            assert list(readable(log, RESULTS)) == found
            assert list(events_of(log, RESULTS, LayerMeasured)) == [event for _, event in found]
            assert list(events_of(log, RESULTS, SystemMeasured)) == []
    assert [event for _, event in found] == [CONV_MEASURED, RELU_MEASURED]
    assert [record.value for record, _ in found] == [messages[0].value, messages[2].value]
    assert [event for _, event in again] == [CONV_MEASURED]
    (line,) = caplog.messages
    assert line.startswith("records of the topic results that can't be read and are left out: 2;")
