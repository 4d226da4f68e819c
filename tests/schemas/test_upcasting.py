"""Events of older versions are read as those of today."""

from pathlib import Path

import msgpack
import pytest

from benanza_schemas.events import AnyEvent, BoundUpdated, ModelIngested
from benanza_schemas.upcasting import ARCHITECTURES, decode_older

GOLDEN = Path(__file__).parent / "golden"


def older(name: str, **changes: object) -> AnyEvent | None:
    """What becomes of this event of version 9 with these changes."""
    fields = msgpack.unpackb((GOLDEN / f"{name}.v9.msgpack").read_bytes()) | changes
    return decode_older(msgpack.packb(fields), ARCHITECTURES - 1)


@pytest.mark.parametrize("kind", [ModelIngested, BoundUpdated])
def test_a_model_s_own_architecture_has_the_id_of_the_model(
    kind: type[ModelIngested | BoundUpdated],
) -> None:
    event = older(kind.__name__, model_id="0" * 32)
    assert type(event) is kind
    assert event.architecture_id == "0" * 32


def test_an_older_event_is_read_as_strictly_as_one_of_today() -> None:
    for changes in ({"colour": "red"}, {"model_id": "m"}, {"model_id": 5}, {"batch": 0}):
        assert older("ModelIngested", **changes) is None
        assert older("BoundUpdated", **changes) is None
    assert older("BoundUpdated", type="ModelProfiled") is None


@pytest.mark.parametrize("encoded", [b"", b"\x80", b"\x91" * 5000, b"\xdf\xff\xff\xff\xff"])
def test_what_is_no_event_is_none_of_an_older_version(encoded: bytes) -> None:
    assert decode_older(encoded, 1) is None


def test_an_event_that_says_it_is_of_today_is_not_read_as_an_older_one() -> None:
    encoded = (GOLDEN / "BoundUpdated.v9.msgpack").read_bytes()
    assert decode_older(encoded, ARCHITECTURES) is None
