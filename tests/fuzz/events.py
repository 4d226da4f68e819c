"""Events whose fields were changed to what they can't be, and some to what they can."""

import random
from typing import Any

import msgpack

MOST_BYTES = 1_000_000
"""Of an event that was changed."""


def with_changed_fields(encoded: bytes, chance: random.Random) -> bytes:
    """The event with a few values or names replaced, taken out or added."""
    fields: Any = msgpack.unpackb(encoded)
    for _ in range(chance.choice((1, 1, 2, 5))):
        changed = msgpack.packb(_changed(fields, chance))
        if len(changed) > MOST_BYTES:
            break
        fields = msgpack.unpackb(changed, strict_map_key=False)
    packed: bytes = msgpack.packb(fields)
    return packed


def _changed(value: Any, chance: random.Random) -> Any:
    """A value in which one at some depth is another."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        match chance.randrange(6):
            case 0:
                return {k: v for k, v in value.items() if k != key}
            case 1:
                return {**value, chance.choice(("", "type", "x" * 5000, "schema_version")): None}
            case _:
                return {**value, key: _changed(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        match chance.randrange(4):
            case 0:
                return [*value[:at], *value[at + 1 :]]
            case 1:
                return value[:at] + [value[at]] * chance.choice((2, 50)) + value[at:]
            case _:
                return [*value[:at], _changed(value[at], chance), *value[at + 1 :]]
    return _odd(chance)


def _odd(chance: random.Random) -> Any:
    deep: Any = None
    match chance.randrange(8):
        case 0:
            return chance.choice((None, True, -1, 0, 1, 3, 9, 2**53, 2**63, 2**64 - 1, -(2**63)))
        case 1:
            return chance.choice((0.0, -0.0, 1e308, float("nan"), float("inf"), 5e-324))
        case 2:
            return chance.choice(("", "a", "\x00", "\n", "x" * 10_000, "float32", "../../x"))
        case 3:
            return chance.choice((b"", b"\xff", bytes(10_000)))
        case 4:
            return [_odd(chance) for _ in range(chance.randrange(3))]
        case 5:
            return {str(chance.random()): _odd(chance) for _ in range(chance.randrange(3))}
        case 6:
            for _ in range(chance.choice((10, 400))):
                deep = [deep]
            return deep
    return msgpack.ExtType(chance.randrange(128), b"12345678")
