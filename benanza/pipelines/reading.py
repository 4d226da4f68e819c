"""Specifications of pipelines as files in TOML, with errors that name the line and the key."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec

from benanza.pipelines.failing import needed
from benanza.pipelines.images.steps import Step, StepError, check_steps
from benanza.pipelines.specification import (
    PIPELINE_VERSION,
    PipelineData,
    PipelineFramework,
    PipelineModel,
    PipelineOutput,
    PipelineScenario,
    PipelineSpecification,
)
from benanza_backbone.errors import BenanzaError

_HEADER = re.compile(r"^\s*\[(\[?)\s*([\w.\"' -]+?)\s*\]")
_KEY = re.compile(r"^\s*([\w.\"' -]+?)\s*=")
_PLACE = re.compile(r"(?P<what>.*?)(?: - at `(?P<place>\$[^`]*)`)?", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `(.*)`$")

STEPS = {str(step.__struct_config__.tag): step for step in get_args(Step)}
PARTS = {
    "model": PipelineModel,
    "framework": PipelineFramework,
    "data": PipelineData,
    "output": PipelineOutput,
    "scenario": PipelineScenario,
}

MOST_BYTES = 50_000_000
"""Of a file: room for the labels and the record of a hundred thousand classes."""


def read_pipeline(path: Path) -> PipelineSpecification:
    """The pipeline that a file specifies. Raises `BenanzaError` that says how to mend it."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BenanzaError(f"{path} has more than {MOST_BYTES:,} bytes; name a specification")
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BenanzaError(f"{path} can't be read: {error}; benanza pipeline writes one") from error
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BenanzaError(f"{path} is no TOML: {error}") from error
    return _pipeline(path, text, given)


def pipeline_text(pipeline: PipelineSpecification) -> str:
    """The pipeline as a file's text."""
    known = _known(msgspec.to_builtins(pipeline))
    written: str = needed("tomli_w", "tomli-w").dumps(known)
    return written


def write_pipeline(pipeline: PipelineSpecification, path: Path) -> None:
    """Writes it into a file. Raises `BenanzaError`."""
    try:
        path.write_bytes(pipeline_text(pipeline).encode())  # encoded before the file is opened
    except (OSError, ValueError) as error:
        raise BenanzaError(f"{path} can't be written: {error}") from error


def _known(value: Any) -> Any:
    """The same without what is `None`, which TOML has no word for."""
    if isinstance(value, dict):
        return {key: _known(inner) for key, inner in value.items() if inner is not None}
    return [_known(inner) for inner in value] if isinstance(value, list | tuple) else value


def _pipeline(path: Path, text: str, given: dict[str, Any]) -> PipelineSpecification:
    version = given.get("version")
    if version != PIPELINE_VERSION:
        raise _wrong(
            path,
            text,
            ["version"],
            f"version is {version!r}, and this Benanza reads {PIPELINE_VERSION}",
        )
    try:
        pipeline = msgspec.convert(given, PipelineSpecification)
    except msgspec.ValidationError as error:
        found = _PLACE.fullmatch(str(error))
        what, place = (found["what"], found["place"] or "$") if found else (str(error), "$")
        keys: list[str | int] = [
            int(part[1:-1]) if part.startswith("[") else part
            for part in re.findall(r"\[\d+\]|[^.\[\]$]+", place)
        ]
        unknown = _UNKNOWN.search(what)
        keys += unknown.groups() if unknown else ()
        raise _wrong(path, text, keys, what + _allowed(given, keys)) from error
    try:
        check_steps(pipeline.steps)
    except StepError as error:
        raise _wrong(path, text, ["steps", error.position, error.key], str(error)) from error
    if not pipeline.metrics:
        raise _wrong(path, text, ["metrics"], 'name a metric, such as metrics = ["top-1"]')
    return pipeline


def _allowed(given: Mapping[str, Any], keys: Sequence[str | int]) -> str:
    """What a key may be, where that are certain words; or which keys there are in its place."""
    match keys:
        case [str() as key]:
            part: type = PipelineSpecification
        case [str() as table, str() as key] if table in PARTS:
            part = PARTS[table]
        case ["steps", int()] | ["steps", int(), "step"]:
            return f"; there are {', '.join(STEPS)}"
        case ["steps", int() as position, str() as key]:
            part = STEPS[given["steps"][position]["step"]]
        case _:
            return ""
    hints = get_type_hints(part)
    if key not in hints:
        return f"; there are {', '.join(hints)}"
    words = [word for word in get_args(hints[key]) if isinstance(word, str)]
    return f"; it may be {', '.join(words)}" if words else ""


def _wrong(path: Path, text: str, keys: list[str | int], what: str) -> BenanzaError:
    """What is wrong with a key, and its line, or that of the last part of its path with one."""
    named = ""
    for key in keys:
        named += f"[{key + 1}]" if isinstance(key, int) else f".{key}" if named else key
    lines = _lines(text)
    while keys and tuple(keys) not in lines:
        keys = keys[:-1]
    line = f", line {lines[tuple(keys)]}" if keys else ""
    return BenanzaError(f"{path}{line}: {named + ': ' if named else ''}{what}")


def _lines(text: str) -> dict[tuple[str | int, ...], int]:
    """The line of each table and key, tables of an array with their positions. What TOML has in
    strings of several lines isn't told from keys: the first that is found counts.
    """
    found: dict[tuple[str | int, ...], int] = {}
    counts: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    array = table
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = ()
            *parents, last = _parts(header[2])
            for part in parents:
                table = (*table, part)
                table += (counts[table] - 1,) if table in counts else ()
            table = (*table, last)
            found.setdefault(table, number)
            if header[1]:
                counts[table] = counts.get(table, 0) + 1
                table = (*table, counts[table] - 1)
                found[table] = number
        elif key := _KEY.match(line):
            array = (*table, *_parts(key[1]))
            found.setdefault(array, number)
            counts[array] = 0
        elif line.lstrip().startswith("{"):  # a table of an array, on a line of its own
            found[(*array, counts.get(array, 0))] = number
            counts[array] = counts.get(array, 0) + 1
    return found


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]
