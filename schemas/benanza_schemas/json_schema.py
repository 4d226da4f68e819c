"""The JSON Schema of each event, for publishers in other languages: the files in `json/`.

Events are encoded as MessagePack, which has a type that JSON lacks: bytes. For bytes, a schema
has a description and excludes all types of JSON. `python -m benanza_schemas.json_schema` writes
the files.
"""

import json
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_args

import msgspec

from benanza_schemas.codec import MAX_EVENT_BYTES
from benanza_schemas.events import AnyEvent, Event

FOLDER = Path(__file__).parent / "json"
EVENTS: tuple[type[Event], ...] = get_args(AnyEvent)

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_JSON_TYPES = ["null", "boolean", "number", "string", "array", "object"]


def json_schema(event: type[Event]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an event as decoded from MessagePack."""
    (root,), parts = msgspec.json.schema_components([event], ref_template="#/$defs/{name}")
    return {
        "$schema": _DIALECT,
        "$comment": f"a map in MessagePack, of at most {MAX_EVENT_BYTES:,} bytes",
        **root,
        "$defs": {name: _for_messagepack(part) for name, part in sorted(parts.items())},
    }


def file_name(event: type[Event]) -> str:
    """The name of the file in `FOLDER` with an event's schema."""
    return f"{event.__name__}.json"


def as_text(schema: dict[str, Any]) -> str:
    """A schema as its file holds it."""
    return json.dumps(schema, indent=2, allow_nan=False) + "\n"


def _for_messagepack(part: Any) -> Any:
    """A schema by msgspec, in which bytes are base64, corrected for MessagePack."""
    if isinstance(part, list):
        return [_for_messagepack(item) for item in part]
    if not isinstance(part, dict):
        return part
    if part.get("contentEncoding") == "base64":
        words = ("MessagePack bin", part.get("description"))
        return {"description": ", ".join(filter(None, words)), "not": {"type": _JSON_TYPES}}
    put_right = {key: _for_messagepack(value) for key, value in part.items()}
    if isinstance(put_right.get("description"), str):
        put_right["description"] = cleandoc(put_right["description"])
    return put_right


def write_all() -> None:
    """Writes the schemas of all events into `FOLDER`."""
    FOLDER.mkdir(exist_ok=True)
    for event in EVENTS:
        text = as_text(json_schema(event))
        (FOLDER / file_name(event)).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write_all()
