"""Bounds, with what slowed down their calls, and the runs that are below them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import asdict

from benanza.from_log.facts import Facts, Row
from benanza.from_log.of_measurements import slowed_layers
from benanza.from_log.of_systems import described
from benanza_schemas.events import BoundUpdated, CheckpointIngested, device
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import COPIED_STATE, STATE_AS_WRITTEN

Key = tuple[str, str, Precision]
"""An architecture, a system, and a precision."""

BEATEN = 0.99
"""A run below this part of a bound beats it."""

_ON_STREAMS = "on several streams"


def bounds(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`bound_queries.BOUNDS`."""
    found = [
        _bound(facts, version, model)
        for version, model in _chosen(facts, asked)
        if not asked["models"] or {model.name, model.model_id} & {*asked["models"]}
    ]
    of = "model_id", "system", "runtime", "precision", "accounting", "fusion", "system_id"
    return sorted(
        found,
        key=lambda row: (
            *(row["model"], row["batch"], [*row["dims"]], [*row["dims"].values()]),
            *(row[column] for column in of),
        ),
    )


def slowed_calls(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`bound_queries.SLOWED_CALLS`."""
    # The models of an architecture share its bound.
    versions = {version.event_id: version for version, _ in _chosen(facts, asked)}
    layers = {
        (fingerprint, version.system_id, version.precision)
        for version in versions.values()
        for fingerprint in version.cover
    }
    slowed = slowed_layers(facts, layers, asked["at"])
    found = []
    for event_id, version in versions.items():
        of = version.system_id, version.precision
        calls = [key for fingerprint in version.cover if (key := (fingerprint, *of)) in slowed]
        if calls:
            titles = {facts.titles[key[0]]["title"] for key in calls if key[0] in facts.titles}
            summary = {
                "calls": len(calls),
                "by": sorted({reason for key in calls for reason in slowed[key]}),
                "layers": sorted(titles),
            }
            found.append({"event_id": event_id, "slowed": summary})
    return found


def beaten_by(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`bound_queries.BEATEN_BY`."""
    newest = {
        (of.architecture_id, of.system_id, of.precision): of
        for of in _newest(facts, asked["at"])
        if of.accounting == "full" and of.fusion
    }
    runs: dict[str, set[tuple[str, float]]] = {}
    for key, measured_at, run_as, run_us in _runs(facts, newest):
        bound = newest.get(key)
        if bound is not None and measured_at <= asked["at"]:
            on_streams = run_as == _ON_STREAMS
            bound_us = bound.parallel_us if on_streams else bound.sequential_us
            if bound_us is not None and run_us < BEATEN * bound_us:
                runs.setdefault(bound.event_id, set()).add((run_as, run_us))
    return [
        {"bound_id": bound_id, "runs": [{"run_as": of, "run_us": us} for of, us in _fastest(found)]}
        for bound_id, found in runs.items()
    ]


def bound_id(facts: Facts, asked: Mapping[str, Any]) -> list[Row]:
    """`stored_events.BOUND_ID`."""
    of = {model.architecture_id for model in facts.models if model.model_id == asked["model"]}
    return [
        {"event_id": version.event_id}
        for version in _newest(facts)
        if version.architecture_id in of
        and (version.system_id, version.precision) == (asked["system"], asked["precision"])
        and (version.accounting, version.fusion) == ("full", True)
    ]


def _bound(facts: Facts, version: BoundUpdated, model: CheckpointIngested) -> Row:
    layers, groups = facts.parts(model.architecture_id)
    layer_names = model.layer_names or _names(facts, model.architecture_id)
    names = dict(enumerate(layer_names[: len(layers)]))
    missing = sorted((at, why.reason) for why in version.missing for at in why.layers)
    # Without a ceiling it is zero, or the sum of rooflines of a version from before these.
    roofline_us = version.roofline_us if version.limited_by else None
    copied = [of.reason for of in layers if of.reason.startswith(COPIED_STATE)]
    return asdict(version) | {
        "model": model.name,
        "model_id": model.model_id,
        "dims": model.dims,
        **described(facts, version.system_id),
        "roofline_us": roofline_us,
        "partial": bool(version.missing),
        "layers": len(layers),
        "unique_layers": len({of.fingerprint for of in layers if of.fingerprint}),
        "coverage": {
            "measured": len(version.measured),
            "free": len(version.free),
            "not_counted": len(version.not_counted),
            "missing": [
                {
                    "name": names.get(at, ""),
                    "op": layers[at].op if at < len(layers) else "",
                    "reason": reason,
                }
                for at, reason in missing
            ],
        },
        "states": {
            "in_place": sum(group.rule == STATE_AS_WRITTEN for group in groups),
            "copied": len(copied),
            "why_copied": sorted({reason.removeprefix(COPIED_STATE) for reason in copied}),
        },
        "critical_path": [names.get(at, "") for at in version.critical_path],
    }


def _names(facts: Facts, architecture_id: str) -> Sequence[str]:
    """The names of the layers in the model that brought the architecture."""
    graph = facts.graphs.get(architecture_id)
    return [] if graph is None else [use.name for use in graph.layers]


def _chosen(
    facts: Facts, asked: Mapping[str, Any]
) -> Iterator[tuple[BoundUpdated, CheckpointIngested]]:
    """The bounds of the models asked for, each with a model of its architecture."""
    named = [of for of in facts.models if {of.name, of.model_id} & {*asked["models"]}]
    ids = {model.model_id for model in (named if asked["models"] else facts.models)}
    for version in _newest(facts, asked["at"]):
        if asked["accounting"] in ("", version.accounting):
            for model in facts.models:
                if model.model_id in ids and model.architecture_id == version.architecture_id:
                    yield version, model


def _newest(facts: Facts, at: datetime | None = None) -> Iterator[BoundUpdated]:
    """Of each bound the version that counts, of those computed until `at`."""
    newest: dict[tuple[object, ...], BoundUpdated] = {}
    for version in facts.bounds:
        if at is None or version.computed_at <= at:
            of = version.accounting, version.fusion
            key = version.architecture_id, version.system_id, version.precision, *of
            if key not in newest or _counts(version) > _counts(newest[key]):
                newest[key] = version
    yield from newest.values()


def _counts(version: BoundUpdated) -> tuple[int, datetime, str]:
    return version.claim, version.computed_at, version.event_id


def _runs(
    facts: Facts, bounds: Mapping[Key, BoundUpdated]
) -> Iterator[tuple[Key, datetime, str, float]]:
    """Right runs of known models: of which bound, when, how, and in how many microseconds."""
    architectures = {model.model_id: model.architecture_id for model in facts.models}
    for run in facts.witnesses:
        error, allowed = run.error, run.allowed_error
        right = error is None or allowed is None or error <= allowed
        if run.model_id in architectures and right:
            key = architectures[run.model_id], run.system_id, run.precision
            ways = (
                ("one call after the other", run.sequential),
                ("with weights prefetched", run.read_ahead),
                (_ON_STREAMS, run.parallel),
            )
            yield from ((key, run.witnessed_at, way, of.median_us) for way, of in ways if of)
    for profile in facts.profiles:
        architecture_id = architectures.get(profile.model_id, "")
        beside = architecture_id, profile.precision, device(profile.system)
        lowest = _lowest(facts, bounds, *beside)
        if lowest is not None and profile.times is not None:
            framework = profile.system.runtime
            version = profile.system.libraries.get(framework, "")
            run_as = f"{framework} {version}, {profile.configuration}"
            yield lowest, profile.profiled_at, run_as, profile.times.median_us


def _lowest(
    facts: Facts,
    bounds: Mapping[Key, BoundUpdated],
    architecture_id: str,
    precision: Precision,
    on: str,
) -> Key | None:
    """Of several systems on a device, such as before and after an upgrade, the one whose bound is
    the lowest: the others' bounds can't be mended any more.
    """
    whole = [
        (bound.sequential_us, bound.system_id, key)
        for key, bound in bounds.items()
        if (key[0], key[2]) == (architecture_id, precision)
        and bound.sequential_us is not None
        and not bound.missing
        and described(facts, bound.system_id)["device"] == on
    ]
    return min(whole)[2] if whole else None


def _fastest(runs: set[tuple[str, float]]) -> list[tuple[str, float]]:
    return sorted(runs, key=lambda run: (run[1], run[0]))
