"""Events of files in Chrome's trace format, one after the other, however large the file is.

Source: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

import gzip
import json
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import SEEK_END, BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

import ijson

from benanza.tracing.formats.shallow import NestedTooDeepError, ShallowFile
from benanza_backbone.errors import BenanzaError

GZIP = b"\x1f\x8b"

_EVENTS = "traceEvents"

MOST_OPEN = 100_000
"""So many events may have begun and not ended: a thread has as many as its operators are nested."""


_DEVICES = re.compile(rb'"deviceProperties"\s*:\s*(\[[^\]]*\])')

_END_BYTES = 1 << 20
"""What stands behind the events is looked for in so many bytes at the end."""


class Head(NamedTuple):
    """The names of a file's GPUs, and whether its events are a list without a name, as ONNX Runtime
    writes it.
    """

    devices: tuple[str, ...]
    is_list: bool


def head_of(path: Path) -> Head:
    """What a file says besides its events. Raises `BenanzaError` if it is no trace."""
    devices: list[str] = []
    with _opened(path) as file:
        for place, kind, value in ijson.parse(file):
            if kind == "start_array" and place in ("", _EVENTS):
                return Head(tuple(devices) or _devices_behind(path), is_list=place == "")
            if place == "deviceProperties.item.name" and kind == "string":
                devices.append(value)
    raise BenanzaError(f"{path} is no trace: it has no {_EVENTS}")


def _devices_behind(path: Path) -> tuple[str, ...]:
    """The names of GPUs behind the events; none where there are none."""
    end = b""
    with _unpacked(path) as file:
        if isinstance(file, BufferedReader):
            file.seek(max(0, file.seek(0, SEEK_END) - _END_BYTES))
        while some := file.read(_END_BYTES):
            end = (end + some)[-_END_BYTES:]
    found = _DEVICES.search(end)
    try:
        return tuple(str(each["name"]) for each in json.loads(found[1])) if found else ()
    except (LookupError, TypeError, ValueError):
        return ()


def events_of(path: Path, *, is_list: bool) -> Iterator[dict[str, Any]]:
    """The events of a file, in which a number may be a `Decimal`: so it may have any size. Raises
    `BenanzaError` if the file can't be read to its end.
    """
    with _opened(path) as file:
        items = ijson.items(file, "item" if is_list else f"{_EVENTS}.item")
        yield from _whole(event for event in items if isinstance(event, dict))


def _whole(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same events, of which those that begin and end apart are one. What doesn't end has no
    duration that is a number.
    """
    begun: dict[tuple[str, str], list[dict[str, Any]]] = {}
    count = 0
    for event in events:
        thread, phase = (str(event.get("pid")), str(event.get("tid"))), event.get("ph")
        if phase == "B" and count < MOST_OPEN:
            begun.setdefault(thread, []).append(event)
            count += 1
        elif phase == "E" and begun.get(thread):
            yield _one(begun[thread].pop(), event)
            count -= 1
        else:
            yield event | _ENDLESS if phase == "B" else event
    for unended in begun.values():
        yield from (event | _ENDLESS for event in unended)


_ENDLESS = {"ph": "X", "dur": None}


def _one(begin: dict[str, Any], end: dict[str, Any]) -> dict[str, Any]:
    try:
        duration = end["ts"] - begin["ts"]
    except (ArithmeticError, LookupError, TypeError):
        return begin | _ENDLESS
    arguments = [each["args"] for each in (begin, end) if isinstance(each.get("args"), dict)]
    known = {name: value for some in arguments for name, value in some.items()}
    return begin | {"ph": "X", "dur": duration, "args": known}


@contextmanager
def _opened(path: Path) -> Iterator[ShallowFile]:
    try:
        with _unpacked(path) as file:
            yield ShallowFile(file)
    except NestedTooDeepError as error:
        raise BenanzaError(f"{path} is no trace: {error}") from error
    except ijson.IncompleteJSONError as error:
        raise BenanzaError(f"{path} is no whole trace ({_why(error)}); record it again") from error


@contextmanager
def _unpacked(path: Path) -> Iterator[gzip.GzipFile | BufferedReader]:
    try:
        with path.open("rb") as plain:
            packed = plain.read(len(GZIP)) == GZIP
            plain.seek(0)
            file = gzip.GzipFile(fileobj=plain) if packed else plain
            if file.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
                file.read(len(BOM_UTF8))  # Editors put it before what is UTF-8 in any case.
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BenanzaError(f"{path} is cut off or damaged; copy or record it again") from error
    except OSError as error:
        why = error.strerror or error
        raise BenanzaError(f"{path} can't be read: {why}; name a trace") from error


def _why(error: ijson.IncompleteJSONError) -> str:
    """What the parser says. It quotes the file, in bytes where that is no text, and points there
    with an arrow of its own line.
    """
    (said,) = error.args
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    return " ".join(text.partition("(right here)")[0].split())[:100]
