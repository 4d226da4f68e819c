"""Events of files in Chrome's trace format, one after the other, however large the file is.

Source: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import ijson

from benanza.tracing.formats.shallow import NestedTooDeepError, ShallowFile
from benanza_backbone.errors import BenanzaError

GZIP = b"\x1f\x8b"

_EVENTS = "traceEvents"


class Head(NamedTuple):
    """What a file says before its events: the names of its GPUs, and whether its events are a list
    without a name, as ONNX Runtime writes it.
    """

    devices: tuple[str, ...]
    is_list: bool


def head_of(path: Path) -> Head:
    """The first part of a file. Raises `BenanzaError` if it is no trace."""
    devices: list[str] = []
    with _opened(path) as file:
        for place, kind, value in ijson.parse(file):
            if kind == "start_array" and place in ("", _EVENTS):
                return Head(tuple(devices), is_list=place == "")
            if place == "deviceProperties.item.name" and kind == "string":
                devices.append(value)
    raise BenanzaError(f"{path} is no trace: it has no {_EVENTS}")


def events_of(path: Path, *, is_list: bool) -> Iterator[dict[str, Any]]:
    """The events of a file, in which a number may be a `Decimal`: so it may have any size. Raises
    `BenanzaError` if the file can't be read to its end.
    """
    with _opened(path) as file:
        for event in ijson.items(file, "item" if is_list else f"{_EVENTS}.item"):
            if isinstance(event, dict):
                yield event


@contextmanager
def _opened(path: Path) -> Iterator[ShallowFile]:
    try:
        with path.open("rb") as plain:
            packed = plain.read(len(GZIP)) == GZIP
            plain.seek(0)
            yield ShallowFile(gzip.GzipFile(fileobj=plain) if packed else plain)
    except NestedTooDeepError as error:
        raise BenanzaError(f"{path} is no trace: {error}") from error
    except ijson.IncompleteJSONError as error:
        raise BenanzaError(f"{path} is no whole trace ({_why(error)}); record it again") from error
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or error
        raise BenanzaError(f"{path} can't be read: {why}; name a trace") from error


def _why(error: ijson.IncompleteJSONError) -> str:
    """What the parser says. It quotes the file, in bytes where that is no text."""
    (said,) = error.args
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    return " ".join(text.split())[:100]
