"""Measurements that count, and those that something slowed down."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from math import inf
from typing import Any

from benanza.from_log.facts import Facts, Row
from benanza_schemas.events import MARK
from benanza_schemas.vocabulary import SUBMITTED, CacheState, StoppedBy

Layer = tuple[str, str, str]
"""A fingerprint, the id of a system, and a precision."""

STABLE = 1.02
"""An undisturbed time within this ratio of the best says that the best was not slowed down."""


def measurements(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`stored_events.MEASUREMENTS`."""
    layers, groups = facts.parts(asked["architecture"])
    parts = {of.fingerprint for of in layers} | {of.fingerprint for of in groups}
    found = [
        row | {"samples_us": [] if row["median_us"] is None else [row["median_us"]]}
        for row in _counted(facts.measured(parts))
        if (row["system_id"], row["precision"]) == (asked["system"], asked["precision"])
    ]
    return sorted(found, key=lambda row: (row["measured_at"], row["event_id"], row["variant"]))


def best_times(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`trace_queries.BEST_TIMES`."""
    best: dict[Layer, float | None] = {}
    for row in _counted(facts.measured(asked["fingerprints"])):
        layer, us = _layer(row), row["median_us"]
        known = best.setdefault(layer, None)
        is_time = us is not None and not row["failure"] and row["cache"] == CacheState.WARM
        if is_time and row["stopped_by"] != StoppedBy.PRUNED:
            best[layer] = us if known is None else min(known, us)
    return [
        {"fingerprint": fingerprint, "system_id": system_id, "precision": precision, "us": us}
        for (fingerprint, system_id, precision), us in best.items()
    ]


def slowed_layers(
    facts: Facts, layers: Iterable[Layer], at: datetime
) -> dict[Layer, tuple[str, ...]]:
    """What slowed down those of these layers whose best time is of such a measurement."""
    asked = set(layers)
    tried: dict[Layer, list[Row]] = {}
    for row in _counted(facts.measured({fingerprint for fingerprint, _, _ in asked})):
        layer = row["fingerprint"], row["system_id"], row["precision"]
        timed = row["median_us"] is not None and row["cache"] == CacheState.WARM
        if layer in asked and timed and row["measured_at"] <= at:
            tried.setdefault(layer, []).append(row)
    slowed = {}
    for layer, rows in tried.items():
        reasons = _slowed_by(min(rows, key=_fastest))
        undisturbed = min((row["median_us"] for row in rows if not _slowed_by(row)), default=inf)
        if reasons and undisturbed > STABLE * min(row["median_us"] for row in rows):
            slowed[layer] = tuple(reasons.split(", "))
    return slowed


def _fastest(row: Row) -> tuple[Any, ...]:
    iqr_us = inf if row["iqr_us"] is None else row["iqr_us"]
    return row["median_us"], iqr_us, row["measured_at"], row["event_id"], row["variant"]


def _slowed_by(row: Row) -> str:
    environment: dict[str, str] = row["environment"]
    return environment.get("slowed_by", "") if environment.get("stable") == "no" else ""


def _counted(rows: Iterable[Row]) -> Iterator[Row]:
    """What was measured here, what was submitted, and of other layers what was imported."""
    rows = list(rows)
    here = {_layer(row) for row in rows if MARK not in row["environment"]}
    for row in rows:
        if row["library"] == SUBMITTED or MARK not in row["environment"] or _layer(row) not in here:
            yield row


def _layer(row: Row) -> Layer:
    return row["fingerprint"], row["system_id"], row["precision"]
