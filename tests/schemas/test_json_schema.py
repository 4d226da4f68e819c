"""The JSON Schemas are up to date, and say what the codec does."""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from benanza_schemas.codec import DecodeError, decode, encode
from benanza_schemas.events import AnyEvent, Event
from benanza_schemas.json_schema import EVENTS, FOLDER, as_text, file_name, json_schema
from tests.examples import examples
from tests.schemas import samples
from tests.schemas.strategies import events

VALIDATORS = {event.__name__: Draft202012Validator(json_schema(event)) for event in EVENTS}
BY_NAME = {type(event).__name__: event for event in samples.EVENTS}


def unpacked(event: AnyEvent) -> dict[str, Any]:
    fields: dict[str, Any] = msgpack.unpackb(encode(event))
    return fields


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: str(event.__name__))
def test_the_file_is_up_to_date(event: type[Event]) -> None:
    """If this fails: python -m benanza_schemas.json_schema"""
    schema = json_schema(event)
    Draft202012Validator.check_schema(schema)
    assert (FOLDER / file_name(event)).read_text(encoding="utf-8") == as_text(schema)


def test_there_is_a_file_for_each_event_and_no_other() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(map(file_name, EVENTS))


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_the_sample_fits_its_schema_and_no_other(name: str) -> None:
    fitting = [n for n, v in VALIDATORS.items() if v.is_valid(unpacked(BY_NAME[name]))]
    assert fitting == [name]


@given(st.one_of(*map(events, EVENTS)))
@examples(times=1)
def test_every_event_fits_its_schema(event: AnyEvent) -> None:
    VALIDATORS[type(event).__name__].validate(unpacked(event))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("ModelPublished", {"colour": "red"}),
        ("ModelPublished", {"type": "ModelIngested"}),
        ("ModelPublished", {"sha256": "abc"}),
        ("ModelPublished", {"event_id": "X" * 32}),
        ("ModelPublished", {"name": None}),
        ("ModelPublished", {"name": b"resnet50"}),
        ("ModelPublished", {"name": "x" * 4097}),
        ("ModelPublished", {"content": "AAAA"}),  # base64, as JSON would have it
        ("ModelPublished", {"content": [0, 1]}),
        ("ModelPublished", {"batch_sizes": [0]}),
        ("ModelPublished", {"dims": {"n": -1}}),
        ("DeadLetter", {"key": "text"}),
        ("DeadLetter", {"offset": -1}),
        ("LayerMeasured", {"precision": "fp8"}),
        ("LayerMeasured", {"variants": [{"library": "x"}]}),
        ("LayerMeasured", {"variants": [{"library": "x", "algorithm": "y"}]}),
        (
            "LayerMeasured",
            {"variants": [{"library": "x", "algorithm": "y", "failure": "z", "samples_us": [1.0]}]},
        ),
        (
            "LayerMeasured",
            {"variants": [{"library": "x", "algorithm": "y", "failure": "z", "median_us": 1.0}]},
        ),
        ("SystemMeasured", {"cache_bytes": None}),
        ("BoundUpdated", {"layout": "NCWH"}),
        ("ModelIngested", {"edges": [[1]]}),
        ("BoundUpdated", {"sequential_us": -1.0}),
        ("BoundUpdated", {"batch": None}),
    ],
)
def test_what_the_codec_refuses_the_schema_refuses(name: str, changes: dict[str, Any]) -> None:
    wrong = unpacked(BY_NAME[name]) | changes
    with pytest.raises(DecodeError):
        decode(msgpack.packb(wrong))
    assert not VALIDATORS[name].is_valid(wrong)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_the_schema_asks_for_the_fields_that_the_codec_asks_for(name: str) -> None:
    fields = unpacked(BY_NAME[name])
    for field in fields:
        less = {key: value for key, value in fields.items() if key != field}
        try:
            decode(msgpack.packb(less))
            readable = True
        except DecodeError:
            readable = False
        assert VALIDATORS[name].is_valid(less) == readable, field


def test_bytes_are_bytes_and_not_base64() -> None:
    """MessagePack has a type for bytes; the schema that msgspec makes for JSON says base64."""
    for event in EVENTS:
        assert "base64" not in as_text(json_schema(event))
    content = json_schema(EVENTS[0])["$defs"]["ModelPublished"]["properties"]["content"]
    assert content["anyOf"][0]["description"] == "MessagePack bin, at most 1,000,000 bytes"
