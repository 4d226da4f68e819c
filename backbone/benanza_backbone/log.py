"""Logs on standard error: text for people, JSON lines for machines.

Modules log through `logging.getLogger(__name__)`. Further data of a line, such as an event's id, is
given as `extra=` and becomes a field of its own.
"""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal

LogFormat = Literal["text", "json"]

_STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime"}


def configure(log_format: LogFormat, level: int = logging.INFO) -> None:
    """Sends the logs of this process to standard error, from this level on; replaces any former
    configuration.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(level)  # Libraries set a lower level for their own loggers.
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(handlers=[handler], level=level, force=True)


def quieten_kafka() -> None:
    """Keeps kafka-python's own log quiet, in commands and services alike.

    It logs as errors what it also raises, some fifteen lines a second while no broker answers, and
    each connection that ends.
    """
    logging.getLogger("kafka").setLevel(logging.CRITICAL)


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON: time (UTC), level, logger, message, extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line of JSON, without the line's end."""
        line: dict[str, Any] = {
            **_extra(record),
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


class TextFormatter(logging.Formatter):
    """Formats a record as `TIME LEVEL LOGGER: MESSAGE name=value …`, in local time."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The record's line without a traceback, which `logging` appends."""
        fields = (f" {name}={value}" for name, value in _extra(record).items())
        return super().formatMessage(record) + "".join(fields)


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}
