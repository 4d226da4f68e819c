"""What is decoded fits the columns of the store."""

from datetime import UTC, datetime, timedelta, timezone

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_schemas.codec import DecodeError, decode, encode
from benanza_schemas.events import AnyEvent, BenchmarkRequested, ModelIngested, SystemMeasured
from benanza_schemas.limits import FIRST_TIME, LAST_TIME, in_utc
from tests.schemas import samples

BY_NAME = {type(event).__name__: event for event in samples.EVENTS}
SYSTEM = BY_NAME["SystemMeasured"]


def with_time(text: str) -> bytes:
    """An event with this time."""
    encoded: bytes = msgpack.packb(msgpack.unpackb(encode(SYSTEM)) | {"measured_at": text})
    return encoded


def changed(event: AnyEvent, **fields: object) -> bytes:
    """The event as one writes it who doesn't look at the limits."""
    builtins = msgspec.to_builtins(event, builtin_types=(bytes,))
    encoded: bytes = msgpack.packb(builtins | fields)
    return encoded


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("1970-01-01T00:00:00Z", FIRST_TIME),
        ("1970-01-01T05:00:00+05:00", FIRST_TIME),
        ("2105-12-31T23:59:59.999999Z", LAST_TIME),
        ("2106-01-01T13:59:59.999999+14:00", LAST_TIME),
        ("2026-11-26T12:00:00-00:30", datetime(2026, 11, 26, 12, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_in_utc(text: str, time: datetime) -> None:
    event = decode(with_time(text))
    assert isinstance(event, SystemMeasured)
    assert (event.measured_at, event.measured_at.tzinfo) == (time, UTC)


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59.999999-14:00",
        "1969-12-31T23:59:59.999999Z",
        "1970-01-01T00:00:00+00:01",
        "2106-01-01T00:00:00Z",
        "2105-12-31T23:59:59.9999999Z",
    ],
)
def test_a_time_that_cannot_be_stored_is_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="isn't between 1970 and 2105"):
        decode(with_time(text))


zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=zones))
def test_every_time_is_in_utc_or_refused(time: datetime) -> None:
    try:
        assert in_utc(time) == time
        assert FIRST_TIME <= in_utc(time) <= LAST_TIME
    except ValueError:
        assert not FIRST_TIME <= time <= LAST_TIME


def test_a_layer_has_the_summary_that_it_names() -> None:
    model = BY_NAME["ModelIngested"]
    assert isinstance(model, ModelIngested)
    with pytest.raises(DecodeError, match="layer 0 has summary 0, which isn't there"):
        decode(changed(model, summaries=[]))


def test_the_outputs_of_a_layer_are_among_its_tensors() -> None:
    job = BY_NAME["BenchmarkRequested"]
    assert isinstance(job, BenchmarkRequested)
    layer = msgspec.to_builtins(job.layer, builtin_types=(bytes,))
    with pytest.raises(DecodeError, match="the output 99 isn't among the layer's tensors"):
        decode(changed(job, layer=layer | {"outputs": [99]}))


def test_no_text_of_a_layer_is_endless() -> None:
    job = BY_NAME["BenchmarkRequested"]
    assert isinstance(job, BenchmarkRequested)
    layer = msgspec.to_builtins(job.layer, builtin_types=(bytes,))
    layer["tensors"][0]["dtype"] = "x" * 5000
    with pytest.raises(DecodeError, match="length <= 4096"):
        decode(changed(job, layer=layer))
