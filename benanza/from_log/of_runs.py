"""Runs of whole models, by frameworks and as their bounds say."""

from collections.abc import Iterator, Mapping
from typing import Any

from benanza.from_log.facts import Facts, Row
from benanza_backbone.clickhouse.rows import rows
from benanza_schemas.events import ModelProfiled


def profiled(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`stored_events.PROFILED`."""
    run = {event.model_id for event in facts.profiles}
    architectures = {model.architecture_id for model in facts.models if model.model_id in run}
    found = {
        model.model_id
        for model in facts.models
        if model.model_id in asked["models"] and model.architecture_id in architectures
    }
    return [{"model_id": model_id} for model_id in sorted(found)]


def profiles(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`stored_events.PROFILES`."""
    own = {m.architecture_id for m in facts.models if m.model_id == asked["model"]}
    alike = {m.model_id for m in facts.models if m.architecture_id in own} | {asked["model"]}
    newest: dict[tuple[object, ...], tuple[tuple[Any, ...], Row]] = {}
    for event in facts.profiles:
        if event.model_id in alike:
            (row,) = rows(event)["profiles"]
            of = "device", "precision", "framework", "version", "configuration"
            key = tuple(row[column] for column in of)
            failed = row["median_us"] is None and not asked["failures"]
            counts = not failed, row["profiled_at"], row["event_id"]
            if key not in newest or counts > newest[key][0]:
                newest[key] = counts, row
    found = [row | {"model_id": asked["model"]} for _, row in newest.values()]
    return sorted(found, key=lambda row: (row["profiled_at"], row["event_id"]), reverse=True)


def profile_calls(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`stored_events.PROFILE_CALLS`."""
    known = {event.event_id: event for event in facts.profiles}
    wanted = sorted(of for of in asked["events"] if of in known)
    return [row for event_id in wanted for row in _calls(known[event_id])]


def _calls(event: ModelProfiled) -> Iterator[Row]:
    for call in event.calls:
        yield {
            "event_id": event.event_id,
            "name": call.name,
            "op": call.op,
            "layers": call.layers,
            "start_us": call.start_us,
            "median_us": call.median_us,
            "iqr_us": call.iqr_us,
            "kernels": [
                (kernel.name, kernel.start_us, kernel.median_us) for kernel in call.kernels
            ],
        }
