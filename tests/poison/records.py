"""Records that no service should have to read: the same ones for the same seed."""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgpack

from benanza_schemas.codec import MAX_EVENT_BYTES, encode
from benanza_schemas.events import SCHEMA_VERSION, AnyEvent
from benanza_schemas.topics import DEDUPE_OWNERS, TOPICS, topic_and_key
from tests.fuzz.events import with_changed_fields
from tests.schemas.samples import EVENTS

CODECS = ("gzip", "snappy", "lz4", "zstd")
UNPACKED_BYTES = (1_000_000, 15_000_000, 17_500_000, 60_000_000, 200_000_000)
SIZES = (100_000, 4_000_000, MAX_EVENT_BYTES - 200_000)


class NotUtf8(str):
    """A header's name that isn't UTF-8."""

    __slots__ = ()

    def encode(self, *_: str) -> bytes:
        """What the producer writes."""
        return b"\xff\xfe" + str(self).encode()


class Poison(NamedTuple):
    """A record to be published; `codec` says how it is compressed, empty where it isn't."""

    kind: str
    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()
    codec: str = ""


def poison(seed: int, number: int) -> Poison:
    """One of them, by its number. All kinds come in turn."""
    kind = KINDS[number % len(KINDS)]
    return _MAKERS[kind](random.Random(f"{seed}/{number}"))._replace(kind=kind)


def _changed(chance: random.Random) -> Poison:
    event = chance.choice(EVENTS)
    return _of(event, with_changed_fields(encode(event), chance))


def _large(chance: random.Random, version: int = SCHEMA_VERSION) -> Poison:
    """As many small things as fit where an event may have some, or may not."""
    event = chance.choice(EVENTS)
    fields = msgpack.unpackb(encode(event)) | {"schema_version": version}
    name = chance.choice([*fields, "unknown"])
    head = {other: value for other, value in fields.items() if other != name}
    packed = msgpack.packb(head)
    # A map of at most 15 fields says how many there are in four bits; a longer one in two bytes.
    if packed[0] < 0xDE:
        packed = b"\xde" + (packed[0] & 15).to_bytes(2) + packed[1:]
    count = int.from_bytes(packed[1:3]) + 1
    item = chance.choice(_ITEMS)
    items = chance.choice(SIZES) // len(item)
    many = b"\xdd" + items.to_bytes(4) + item * items
    value = b"\xde" + count.to_bytes(2) + packed[3:] + msgpack.packb(name) + many
    return _of(event, value)


_ITEMS = (
    b"\x00",
    b"\x80",
    b"\x90",
    b"\xa0",
    b"\xc0",
    b"\x92\x00\x00",
    b"\x92\x00\xa1a",
    b"\xcd\xff\xff",
    b"\xa3abc",
    b"\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00",
    b"\x81\xa1a\x80",
)


def _of_another_version(chance: random.Random) -> Poison:
    version = chance.choice((*range(1, 10), SCHEMA_VERSION + 1, 2**31, 2**63))
    if chance.random() < 0.5:
        return _large(chance, version)
    event = chance.choice(EVENTS)
    fields = msgpack.unpackb(encode(event)) | {"schema_version": version}
    if chance.random() < 0.5:
        fields.pop("architecture_id", None)
    return _of(event, msgpack.packb(fields))


def _compressed(chance: random.Random) -> Poison:
    event = chance.choice(EVENTS)
    value = chance.choice((encode(event), bytes(chance.choice(UNPACKED_BYTES))))
    return _of(event, value)._replace(codec=chance.choice(CODECS))


def _nested(chance: random.Random) -> Poison:
    event = chance.choice(EVENTS)
    fields = msgpack.unpackb(encode(event))
    nest = chance.choice((b"\x91", b"\x81\xa1a")) * (chance.choice(SIZES) // 3)
    name = chance.choice(list(fields))
    return _of(event, b"\x82\xa4type" + msgpack.packb(fields["type"]) + msgpack.packb(name) + nest)


def _garbage(chance: random.Random) -> Poison:
    event = chance.choice(EVENTS)
    encoded = encode(event)
    cut = encoded[: chance.randrange(len(encoded))]
    value = chance.choice(
        (cut, encoded + b"\x00", chance.randbytes(chance.choice((1, 100, 10**6))))
    )
    return _of(event, value)._replace(topic=_any_topic(chance))


def _empty(chance: random.Random) -> Poison:
    key, value = chance.choice(((None, b""), (b"", None), (b"key", None), (b"key", b"")))
    return Poison("", _any_topic(chance), key, value)


def _odd_key(chance: random.Random) -> Poison:
    event = chance.choice(EVENTS)
    key = chance.choice((None, b"", b"\xff\xfe", b"\x00" * 32, chance.randbytes(900_000)))
    return _of(event, encode(event))._replace(key=key)


def _odd_headers(chance: random.Random) -> Poison:
    event = chance.choice(EVENTS)
    headers: Sequence[tuple[str, bytes]] = chance.choice(
        (
            [(NotUtf8("name"), b"value")],
            [("", b"")] * 300_000,
            [("x" * 1_000_000, bytes(1_000_000))],
        )
    )
    return _of(event, encode(event))._replace(headers=headers)


def _too_large(chance: random.Random) -> Poison:
    event = chance.choice(EVENTS)
    size = chance.choice((MAX_EVENT_BYTES + 1, MAX_EVENT_BYTES + 900_000, 20_000_000))
    return _of(event, encode(event) + bytes(size))


def _misplaced(chance: random.Random) -> Poison:
    event = chance.choice(EVENTS)
    return _of(event, encode(event))._replace(topic=_any_topic(chance))


_MAKERS: dict[str, Callable[[random.Random], Poison]] = {
    "changed fields": _changed,
    "many small things": _large,
    "another version": _of_another_version,
    "compressed": _compressed,
    "nested": _nested,
    "garbage": _garbage,
    "empty": _empty,
    "odd key": _odd_key,
    "odd headers": _odd_headers,
    "too large": _too_large,
    "misplaced": _misplaced,
}
KINDS = tuple(_MAKERS)


def _of(event: AnyEvent, value: bytes) -> Poison:
    topic, key = topic_and_key(event)
    return Poison("", topic, key, value)


def _any_topic(chance: random.Random) -> str:
    return chance.choice((*TOPICS, DEDUPE_OWNERS))
