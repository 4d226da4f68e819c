"""Events survive as bytes, those of older versions too; fields that are none are refused."""

from math import inf, nan
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_schemas import codec
from benanza_schemas.codec import MAX_EVENT_BYTES, DecodeError, decode, encode
from benanza_schemas.events import (
    SCHEMA_VERSION,
    TIME_FIELDS,
    AnyEvent,
    DeadLetter,
    LayerMeasured,
    LayerSeen,
    Missing,
    ModelIngested,
    ModelProfiled,
    ModelPublished,
)
from benanza_schemas.json_schema import EVENTS
from benanza_schemas.layer import Attribute, Layer, Operator, Tensor
from benanza_schemas.vocabulary import CacheState, StoppedBy
from tests.examples import examples
from tests.schemas import samples
from tests.schemas.encoded import BY_NAME, GOLDEN, changed, fields_of, golden
from tests.schemas.strategies import events, field_names

any_event = st.one_of(*map(events, EVENTS))


def written(version: int) -> list[str]:
    """The events of which there are bytes that this version wrote."""
    return sorted(path.name.split(".")[0] for path in GOLDEN.glob(f"*.v{version}.msgpack"))


OLDER = [(name, version) for version in range(1, SCHEMA_VERSION) for name in written(version)]

FIGURES = ("sequential_us", "sequential_spread_us", "parallel_us", "parallel_spread_us")

NEW_IN: dict[int, dict[str, dict[str, Any]]] = {
    2: {"SystemMeasured": {"cache_bytes": 0}, "BoundUpdated": {"layout": ""}},
    3: {"ModelWitnessed": {"read_ahead": None}},
    4: {"BenchmarkRequested": {"after": ()}},
    5: {},
    6: {},
    7: {"ModelWitnessed": {"error": None, "allowed_error": None}},
    8: {},
    9: {"ModelWitnessed": {"policy": "", "predicted_us": None}},
    10: {
        "ModelIngested": {"architecture_id": samples.some_id("a")},
        "BoundUpdated": {"architecture_id": samples.some_id("a")},
    },
    11: {
        "ModelPublished": {"granularity": None},
        "BenchmarkRequested": {"layer": samples.EVERY_ATTRIBUTE},
    },
    12: {"ModelPublished": {"content_encoding": ""}},
    13: {"SystemMeasured": {"imported_from": ""}},
    14: {
        "ModelPublished": {"dims": {"sequence": 128}},
        "ModelIngested": {"dims": {"sequence": 128}},
        "CheckpointIngested": {"dims": {"sequence": 128}},
    },
    15: {"BoundUpdated": {"claim": 0}, "ModelWitnessed": {"imported_from": ""}},
    16: {"CheckpointIngested": {"published_id": ""}},
    17: {
        name: {"quantised": "", "tensor_parallel": 1}
        for name in ("ModelPublished", "ModelIngested", "CheckpointIngested")
    },
    18: {"BoundUpdated": {"limited_by": ""}},
    19: {"BoundUpdated": {"attainable_error_us": 0.0}},
    20: {},
    21: {},
    22: {},
}
NEW_VARIANT_FIELDS_IN: dict[int, dict[str, Any]] = {
    2: {"layout_change_us": None},
    3: {"write_change_us": None, "chosen_by_heuristic": False},
}
"""What readers take for the fields that the versions before lack."""


FAILED: dict[str, Any] = {"library": "", "algorithm": "", "failure": "no memory"}
TIMED: dict[str, Any] = {
    "library": "",
    "algorithm": "",
    "samples_us": [1.0],
    "minimum_us": 1.0,
    "median_us": 1.0,
    "iqr_us": 0.0,
}
"""Variants as they are encoded."""

CEILING: dict[str, Any] = {"name": "flops", "precision": "fp32", "value": 1.0, "iqr": 0.0}


def as_of(event: AnyEvent, version: int) -> AnyEvent:
    """What the sample was in an older version."""
    changes: dict[str, Any] = {"schema_version": version}
    lacking: dict[str, Any] = {}
    for later in range(version + 1, SCHEMA_VERSION + 1):
        changes |= NEW_IN[later].get(type(event).__name__, {})
        lacking |= NEW_VARIANT_FIELDS_IN.get(later, {})
    if isinstance(event, ModelProfiled) and version < 9:
        changes["calls"] = tuple(msgspec.structs.replace(call, kernels=()) for call in event.calls)
    if isinstance(event, ModelIngested) and version < 18:
        for field in ("summaries", "groups"):
            parts = getattr(event, field)
            changes[field] = tuple(msgspec.structs.replace(part, least_flops=0) for part in parts)
    if isinstance(event, ModelIngested) and version < 19:
        parts = changes.get("summaries", event.summaries)
        changes["summaries"] = tuple(
            msgspec.structs.replace(part, least_weights=0) for part in parts
        )
    if isinstance(event, ModelIngested) and version < 22:
        parts = changes.get("summaries", event.summaries)
        changes["summaries"] = tuple(msgspec.structs.replace(part, least_fixed=0) for part in parts)
    if isinstance(event, LayerMeasured):
        timed, failed = event.variants
        if version < 5:
            timed = msgspec.structs.replace(
                timed, cache=CacheState.COLD, stopped_by=StoppedBy.RELATIVE_SPREAD
            )
        changes["variants"] = tuple(
            msgspec.structs.replace(variant, **lacking) for variant in (timed, failed)
        )
    return msgspec.structs.replace(event, **changes)


def test_there_is_a_sample_of_every_kind_of_event() -> None:
    assert sorted(BY_NAME) == sorted(event.__name__ for event in EVENTS)
    assert written(SCHEMA_VERSION) == sorted(BY_NAME)


def test_there_are_bytes_of_every_event_that_older_versions_had() -> None:
    added = {
        2: ("ModelWitnessed",),
        8: ("ModelProfiled",),
        10: ("CheckpointIngested",),
        13: ("RecordingWithdrawn",),
        20: ("AgentAnnounced", "EvaluationRequested", "EvaluationTaken", "ModelEvaluated"),
        21: ("ModelForgotten",),
    }
    for version in range(1, SCHEMA_VERSION):
        later = {name for since, names in added.items() if since > version for name in names}
        assert written(version) == sorted({*BY_NAME} - later)


@pytest.mark.parametrize(("name", "version"), OLDER)
def test_an_event_written_by_an_older_version_stays_readable(name: str, version: int) -> None:
    assert decode(golden(name, version)) == as_of(BY_NAME[name], version)


@pytest.mark.parametrize("version", range(1, 5))
def test_zeros_of_a_bound_without_a_measured_layer_are_read_as_null(version: int) -> None:
    """Older versions wrote zero there, which reads as a figure."""
    fields = msgpack.unpackb(golden("BoundUpdated", version))
    zeros = dict.fromkeys(FIGURES, 0.0)
    missing = [{"reason": "not measured", "layers": [0]}]

    def read(**changes: object) -> list[float | None]:
        event = decode(msgpack.packb(fields | zeros | changes))
        return [getattr(event, name) for name in FIGURES]

    assert read(measured=[], missing=missing) == [None] * 4
    assert read(measured=[], missing=[]) == [0.0] * 4, "a model of views alone takes no time"
    assert read(measured=[0], missing=missing) == [0.0] * 4


def test_a_bound_without_figures_is_written_as_null() -> None:
    missing = (Missing("not measured", (0,)),)
    event = msgspec.structs.replace(
        BY_NAME["BoundUpdated"], measured=(), missing=missing, **dict.fromkeys(FIGURES)
    )
    assert [fields_of(event)[name] for name in FIGURES] == [None] * 4
    assert decode(encode(event)) == event


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_todays_bytes_are_those_of_version_22(name: str) -> None:
    """If this fails, consumers of the version before can't read what is written now."""
    assert SCHEMA_VERSION == 22
    assert encode(BY_NAME[name]) == golden(name)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_optional_fields_may_be_left_out(name: str) -> None:
    """As an older publisher does, which doesn't know of them."""
    kind = type(BY_NAME[name])
    required = {f.name for f in msgspec.structs.fields(kind) if f.required}
    fields = fields_of(BY_NAME[name])
    little = {k: v for k, v in fields.items() if k in required or k == "type"}
    event = decode(msgpack.packb(little))
    assert {k: getattr(event, k) for k in required} == {
        k: getattr(BY_NAME[name], k) for k in required
    }
    assert event.schema_version == SCHEMA_VERSION


@given(any_event)
@examples(times=1.5)
def test_decoding_gives_back_what_was_encoded(event: AnyEvent) -> None:
    assert decode(encode(event)) == event


@given(any_event)
@examples(times=0.5)
def test_the_same_event_has_the_same_bytes(event: AnyEvent) -> None:
    assert encode(decode(encode(event))) == encode(event)


def test_whole_floats_stay_floats_and_integers_integers() -> None:
    """They are different attributes, though Python says 1 == 1.0."""
    layer = Layer(
        tensors=(Tensor("float32", (1,)), Tensor("float32", (1,))),
        operators=(Operator("Op", "", 1, (Attribute("f", 1.0), Attribute("i", 1)), (0,), (1,)),),
        outputs=(1,),
    )
    event = LayerSeen(event_id="0" * 32, fingerprint="0" * 32, layer=layer, model_id="0" * 32)
    decoded = decode(encode(event))
    assert isinstance(decoded, LayerSeen)
    assert [type(a.value) for a in decoded.layer.operators[0].attributes] == [float, int]


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_an_unknown_field_is_refused(name: str) -> None:
    with pytest.raises(DecodeError, match="unknown field `colour`"):
        decode(changed(BY_NAME[name], colour="red"))


@pytest.mark.parametrize(
    ("name", "field"),
    [
        (kind.__name__, field.encode_name)
        for kind in EVENTS
        for field in msgspec.structs.fields(kind)
        if field.required
    ],
)
def test_a_missing_field_is_refused_by_name(name: str, field: str) -> None:
    fields = fields_of(BY_NAME[name])
    del fields[field]
    with pytest.raises(DecodeError, match=f"missing required field `{field}`"):
        decode(msgpack.packb(fields))


@pytest.mark.parametrize(
    ("name", "field"), [(kind.__name__, field) for kind in EVENTS for field in field_names(kind)]
)
def test_a_field_of_the_wrong_type_is_refused_by_name(name: str, field: str) -> None:
    with pytest.raises(DecodeError, match=rf"\$\.{field}"):
        decode(changed(BY_NAME[name], **{field: msgpack.ExtType(5, b"")}))


@pytest.mark.parametrize(
    ("event", "field", "value", "complaint"),
    [
        ("ModelPublished", "event_id", "0" * 31, "regex"),
        ("ModelPublished", "event_id", "0" * 32 + "\n", "length <= 32"),
        ("ModelPublished", "event_id", "X" * 32, "regex"),
        ("ModelPublished", "sha256", "a" * 63, "regex"),
        ("ModelPublished", "sha256", "A" * 64, "regex"),
        ("ModelPublished", "name", b"resnet50", "Expected `str`, got `bytes`"),
        ("ModelPublished", "name", "x" * 4097, "length <= 4096"),
        ("ModelPublished", "content", "AAAA", "got `str`"),
        ("ModelPublished", "content", bytes(1_000_001), "length <= 1000000"),
        ("ModelPublished", "batch_sizes", [0], ">= 1"),
        ("ModelPublished", "batch_sizes", [1.0], "Expected `int`, got `float`"),
        ("ModelPublished", "batch_sizes", [True], "Expected `int`, got `bool`"),
        ("ModelPublished", "batch_sizes", [2**53 + 1], "<= "),
        ("ModelPublished", "dims", {"n": -1}, ">= 0"),
        ("ModelPublished", "schema_version", 0, ">= 1"),
        ("ModelIngested", "edges", [[0]], "length 2"),
        ("ModelIngested", "edges", [[0, -1]], ">= 0"),
        ("ModelIngested", "edges", [[0, 2**32]], "<= "),
        ("ModelIngested", "opset", 2**32, "<= "),
        ("ModelIngested", "layers", [{"summary": 0, "name": ""}], "Expected `array`"),
        ("ModelIngested", "layers", [[0, "x", 1]], "length 2"),
        ("LayerMeasured", "precision", "fp8", "Invalid enum value 'fp8'"),
        ("LayerMeasured", "variants", [FAILED] * 65_537, "<= 65536"),
        ("LayerMeasured", "variants", [FAILED | {"cache": "hot"}], "Invalid enum value 'hot'"),
        ("LayerMeasured", "variants", [FAILED | {"stopped_by": "x"}], "Invalid enum value 'x'"),
        ("LayerMeasured", "variants", [FAILED, TIMED | {"median_us": inf}], "<= "),
        ("LayerMeasured", "variants", [FAILED, TIMED | {"median_us": nan}], ">= 0"),
        ("SystemMeasured", "ceilings", [CEILING | {"name": "luck"}], "Invalid enum value 'luck'"),
        ("BoundUpdated", "layout", "NCWH", "Invalid enum value 'NCWH'"),
        ("LayerMeasured", "measured_at", "yesterday", "Invalid RFC3339"),
        ("LayerMeasured", "measured_at", "2026-11-21T12:00:00", "timezone"),
        ("LayerMeasured", "measured_at", 1795262400, "Expected `datetime`, got `int`"),
        ("BoundUpdated", "sequential_us", -1.0, ">= 0"),
        ("BoundUpdated", "sequential_us", float("nan"), ">= 0"),
        ("BoundUpdated", "sequential_us", float("inf"), "<= "),
        ("BoundUpdated", "measured", [2**32], "<= "),
        ("ModelWitnessed", "calls", 2**32, "<= "),
        ("BoundUpdated", "fusion", 1, "Expected `bool`, got `int`"),
        ("SystemMeasured", "ceilings", [["flops", "fp32", 1.0, 0.0]], "Expected `object`"),
    ],
)
def test_a_value_out_of_bounds_is_refused(
    event: str, field: str, value: object, complaint: str
) -> None:
    with pytest.raises(DecodeError, match=complaint):
        decode(changed(BY_NAME[event], **{field: value}))


@pytest.mark.parametrize(
    ("event", "path", "value"),
    [
        ("SystemMeasured", ("system", "threads"), 2**32),
        ("SystemMeasured", ("system", "threads"), 0),
        ("LayerSeen", ("layer", "operators", 0, "version"), 2**32),
        ("LayerSeen", ("layer", "tensors", 0, "shape", 0), 2**63),
    ],
)
def test_a_number_that_the_store_has_no_room_for_is_refused(
    event: str, path: tuple[str | int, ...], value: int
) -> None:
    fields = part = fields_of(BY_NAME[event])
    *inside, last = path
    for step in inside:
        part = part[step]  # type: ignore[index]
    part[last] = value  # type: ignore[index]
    with pytest.raises(DecodeError, match=r"int` [<>]= "):
        decode(msgpack.packb(fields))


@pytest.mark.parametrize("field", TIME_FIELDS)
def test_a_variant_has_either_a_time_or_a_failure(field: str) -> None:
    event = BY_NAME["LayerMeasured"]
    for variant in (FAILED, TIMED, TIMED | {"failure": ""}):
        assert isinstance(decode(changed(event, variants=[variant])), LayerMeasured)
    lacking = {name: value for name, value in TIMED.items() if name != field}
    for variant, complaint in (
        (FAILED | {field: TIMED[field]}, f"`{field}` stands beside `failure`"),
        (lacking, f"`{field}` is missing, and `failure` too"),
    ):
        with pytest.raises(DecodeError, match=rf"{complaint}.* at `\$.variants\[1\]`"):
            decode(changed(event, variants=[TIMED, variant]))


def test_an_unknown_kind_of_event_is_refused() -> None:
    with pytest.raises(DecodeError, match="Invalid value 'ModelDeleted'"):
        decode(changed(BY_NAME["ModelPublished"], type="ModelDeleted"))


def test_a_newer_schema_version_says_to_upgrade() -> None:
    """Before anything else: what else is new in the event can't be told."""
    newer = changed(BY_NAME["ModelPublished"], schema_version=SCHEMA_VERSION + 1, colour="red")
    with pytest.raises(DecodeError, match=r"schema version 23 is newer than 22.*upgrade"):
        decode(newer)


def dead_letter(value: bytes) -> DeadLetter:
    letter = BY_NAME["DeadLetter"]
    assert isinstance(letter, DeadLetter)
    return msgspec.structs.replace(letter, value=value)


def test_an_event_that_is_too_large_is_neither_written_nor_read() -> None:
    with pytest.raises(ValueError, match="DeadLetter takes 16,000,"):
        encode(dead_letter(bytes(MAX_EVENT_BYTES)))
    with pytest.raises(DecodeError, match="16,000,001 bytes are more"):
        decode(bytes(MAX_EVENT_BYTES + 1))


def test_the_largest_event_is_written_and_read() -> None:
    room = MAX_EVENT_BYTES - len(encode(dead_letter(bytes(2**16)))) + 2**16
    event = dead_letter(bytes(room))
    assert len(encode(event)) == MAX_EVENT_BYTES
    assert decode(encode(event)) == event


def test_a_published_model_may_hold_a_file_of_a_million_bytes() -> None:
    event = ModelPublished(event_id="0" * 32, name="m", sha256="0" * 64, content=bytes(1_000_000))
    assert codec.decode(codec.encode(event)) == event
