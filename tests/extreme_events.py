"""Events at the limits of what the contract allows, made from the types of their fields.

Numbers are the least or the largest, texts are empty, endless or what terminals, SQL and HTML take
for something else, times are the first and the last. Ids are few, so that events are about each
other, and mostly don't fit.
"""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, get_args

import msgspec
from msgspec import inspect

from benanza_schemas.codec import decode, encode
from benanza_schemas.events import (
    SCHEMA_VERSION,
    AnyEvent,
    Event,
    LayerUse,
    ModelIngested,
    ModelPublished,
    Variant,
)
from benanza_schemas.layer import Layer
from benanza_schemas.limits import FIRST_TIME, LAST_TIME, MAX_WHOLE

KINDS: tuple[type[Event], ...] = get_args(AnyEvent)

TEXTS = (
    *("", "a", "net", "\x00", "\x1b[31m", "\n\r\t\x85", "\u2028\u202e", "\U0010ffff", "\xa0"),
    *("'\"\\`", "{x:String}", "%s{0}", "[bold]", "<script>alert(1)</script>", "a,b=c;d|e/../f"),
)
"""Short ones; a text of the greatest length is made of each of `LONG`."""

LONG = ("a", "\x00", "é", "a b", "\n")

LONGEST = 5000
"""Most characters of a text that may have more: a folder holds many events."""

MOST = 4
"""Most items of a collection, but for the samples of a measurement."""


class Extremes:
    """Makes events, the same ones for the same `seed`. `ids` are all that their ids are among."""

    def __init__(self, seed: int, ids: Sequence[str] = ()) -> None:
        self._chance = random.Random(seed)
        self._ids = ids

    def event(self, kind: type[Event]) -> AnyEvent:
        """An event of this kind, as it is decoded."""
        made: Any = self._of(inspect.type_info(kind))
        made = msgspec.structs.replace(made, schema_version=SCHEMA_VERSION)
        if isinstance(made, ModelPublished):  # Nothing is to be fetched.
            made = msgspec.structs.replace(made, uri="", content=made.content or b"")
        return decode(encode(made))

    def _of(self, info: inspect.Type) -> Any:
        pick = self._chance.choice
        match info:
            case inspect.Metadata():
                return self._of(info.type)
            case inspect.StructType():
                return self._struct(info)
            case inspect.StrType():
                return self._text(info)
            case inspect.IntType():
                return self._whole(info)
            case inspect.FloatType():
                least = 0.0 if info.ge is None else info.ge
                most = 1e308 if info.le is None else info.le
                return pick((least, most, (least + most) / 2, least + 1e-9, least + 5.5))
            case inspect.BytesType():
                return pick((b"", b"\x00\xff", b"x" * 300))
            case inspect.BoolType():
                return pick((False, True))
            case inspect.NoneType():
                return None
            case inspect.LiteralType():
                return pick(info.values)
            case inspect.EnumType():
                return pick(list(info.cls))
            case inspect.DateTimeType():
                a_day = timedelta(days=1, microseconds=1)
                return pick((FIRST_TIME, LAST_TIME, FIRST_TIME + a_day, LAST_TIME - a_day))
            case inspect.VarTupleType():
                return tuple(self._of(info.item_type) for _ in range(self._length(info.max_length)))
            case inspect.TupleType():
                return tuple(self._of(item) for item in info.item_types)
            case inspect.DictType():
                return {
                    self._of(info.key_type): self._of(info.value_type)
                    for _ in range(self._length(None))
                }
            case inspect.UnionType():
                return self._of(pick(info.types))
        raise TypeError(f"nothing is known of {info}")

    def _struct(self, info: inspect.StructType) -> Any:
        fields = {field.name: self._of(field.type) for field in info.fields}
        if info.cls is Variant:
            fields |= self._time() if self._chance.random() < 0.7 else self._failure()
        elif info.cls is Layer:
            there = len(fields["tensors"])
            fields["outputs"] = tuple(output % there for output in fields["outputs"] if there)
        elif info.cls is ModelIngested:
            there = len(fields["summaries"])
            uses = (LayerUse(use.summary % there, use.name) for use in fields["layers"] if there)
            fields["layers"] = tuple(uses)
        return info.cls(**fields)

    def _time(self) -> dict[str, Any]:
        number = self._chance.choice((1, 2, 10_000))
        us = self._chance.choice((0.0, 1e-9, 5.5, 2.0**53))
        return {
            "samples_us": (us,) * number,
            "minimum_us": us,
            "median_us": us,
            "iqr_us": self._chance.choice((0.0, 2.0**53)),
            "failure": "",
        }

    def _failure(self) -> dict[str, Any]:
        return {
            "samples_us": (),
            "minimum_us": None,
            "median_us": None,
            "iqr_us": None,
            "failure": self._chance.choice(TEXTS) or "x" * 8192,
        }

    def _whole(self, info: inspect.IntType) -> int:
        least = -(2**63) if info.ge is None else info.ge
        most = 2**63 - 1 if info.le is None else info.le
        # A position of a layer, more often than one that isn't there.
        small = [number for number in (0, 1, 2, 3) if number >= least] * (most == MAX_WHOLE)
        return self._chance.choice([least, most, *small])

    def _text(self, info: inspect.StrType) -> str:
        if info.pattern is not None:
            assert info.max_length is not None
            if info.max_length == 32 and self._ids:
                return self._chance.choice(self._ids)
            return f"{self._chance.getrandbits(4 * info.max_length):0{info.max_length}x}"
        longest = min(LONGEST, LONGEST if info.max_length is None else info.max_length)
        long = self._chance.choice(LONG)
        return self._chance.choice((*TEXTS, (long * longest)[:longest]))

    def _length(self, most: int | None) -> int:
        return (
            self._chance.choice((0, 1, 2, MOST))
            if most is None
            else self._chance.choice((0, 1, 2, min(MOST, most)))
        )
