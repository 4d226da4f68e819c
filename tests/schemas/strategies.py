"""Events of any content, made from the types of their fields as msgspec sees them."""

from datetime import UTC
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from benanza_schemas.events import (
    SCHEMA_VERSION,
    TIME_FIELDS,
    AnyEvent,
    Event,
    LayerUse,
    ModelIngested,
    Variant,
)
from benanza_schemas.layer import Layer
from benanza_schemas.limits import FIRST_TIME, LAST_TIME

SMALL = 4
"""Most items that a list or a map gets."""


def events(kind: type[Event]) -> st.SearchStrategy[AnyEvent]:
    """All events of a kind that the contract allows, and that are equal to themselves."""
    return _of(inspect.type_info(kind)).map(
        lambda event: msgspec.structs.replace(event, schema_version=SCHEMA_VERSION)
    )


def _of(info: inspect.Type) -> st.SearchStrategy[Any]:
    match info:
        case inspect.Metadata():
            return _of(info.type)
        case inspect.StructType() if info.cls is Variant:
            return _variants(info)
        case inspect.StructType() if info.cls in _FITTED:
            fields = {field.name: _of(field.type) for field in info.fields}
            return st.fixed_dictionaries(fields).map(_FITTED[info.cls])
        case inspect.StructType():
            fields = {field.name: _of(field.type) for field in info.fields}
            return st.builds(info.cls, **fields)
        case inspect.StrType():
            return _text(info)
        case inspect.IntType():
            lowest = -(2**63) if info.ge is None else info.ge
            return st.integers(lowest, 2**64 - 1 if info.le is None else info.le)
        case inspect.FloatType():
            lowest_float = info.ge if info.gt is None else info.gt
            return st.floats(
                lowest_float, info.le, exclude_min=info.gt is not None, allow_nan=False
            )
        case inspect.BytesType():
            return st.binary(max_size=20)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType():
            return st.sampled_from(info.values)
        case inspect.EnumType():
            return st.sampled_from(list(info.cls))
        case inspect.DateTimeType():
            first, last = (time.replace(tzinfo=None) for time in (FIRST_TIME, LAST_TIME))
            return st.datetimes(first, last, timezones=st.just(UTC))
        case inspect.VarTupleType():
            return st.lists(_of(info.item_type), max_size=SMALL).map(tuple)
        case inspect.TupleType():
            return st.tuples(*map(_of, info.item_types))
        case inspect.DictType():
            return st.dictionaries(_of(info.key_type), _of(info.value_type), max_size=SMALL)
        case inspect.UnionType():
            return st.one_of(*map(_of, info.types))
    raise TypeError(f"no strategy for {info}")


def _layer(fields: dict[str, Any]) -> Layer:
    """A layer of these fields, whose outputs are among its tensors."""
    there = len(fields["tensors"])
    outputs = tuple(output % there for output in fields["outputs"] if there)
    return Layer(**fields | {"outputs": outputs})


def _graph(fields: dict[str, Any]) -> ModelIngested:
    """A graph of these fields, each of whose layers has one of its summaries."""
    there = len(fields["summaries"])
    uses = tuple(LayerUse(use.summary % there, use.name) for use in fields["layers"] if there)
    return ModelIngested(**fields | {"layers": uses})


_FITTED = {Layer: _layer, ModelIngested: _graph}
"""How an event is made of fields that have to fit each other."""


def _variants(info: inspect.StructType) -> st.SearchStrategy[Variant]:
    """Variants with a time, and with a failure."""
    fields = {field.name: _of(field.type) for field in info.fields}
    microseconds = st.floats(0, 2**53)
    timed = fields | {
        "samples_us": st.lists(microseconds, min_size=1, max_size=SMALL).map(tuple),
        **dict.fromkeys(("minimum_us", "median_us", "iqr_us"), microseconds),
        "failure": st.just(""),
    }
    failed = {name: of for name, of in fields.items() if name not in TIME_FIELDS} | {
        "failure": st.text(min_size=1, max_size=20)
    }
    return st.one_of(st.builds(Variant, **timed), st.builds(Variant, **failed))


def _text(info: inspect.StrType) -> st.SearchStrategy[str]:
    if info.pattern is not None:
        return st.from_regex(info.pattern, fullmatch=True).filter(
            lambda text: info.max_length is None or len(text) <= info.max_length
        )
    longest = 20 if info.max_length is None else min(20, info.max_length)
    return st.text(max_size=longest)


def field_names(kind: type[Event]) -> list[str]:
    """The names under which an event's fields stand in its encoded form."""
    return [field.encode_name for field in msgspec.structs.fields(kind)]
