"""Which models there are, by their names, ids and files; their layers; and which have no bound."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict

from benanza.from_log.facts import Facts, Row
from benanza.from_log.of_systems import described
from benanza_schemas.events import CheckpointIngested, ModelIngested
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation

Parameters = Mapping[str, Any]


def ids_of_models(facts: Facts, asked: Parameters) -> list[Row]:
    """`model_ids.MODEL_IDS`."""
    found: dict[str, set[str]] = {}
    for model in facts.models:
        if {model.name, model.model_id, model.sha256} & {*asked["models"]}:
            as_written = _derivation(model) == AS_WRITTEN
            for key in (model.name, model.model_id, model.sha256 if as_written else model.model_id):
                found.setdefault(key, set()).add(model.model_id)
    return [{"model": key, "ids": sorted(ids)} for key, ids in found.items()]


def names(facts: Facts, asked: Parameters) -> list[Row]:
    """`queries.MODEL_NAMES`."""
    return [{"name": name} for name in sorted({model.name for model in facts.models})]


def files(facts: Facts, asked: Parameters) -> list[Row]:
    """`model_ids.FILES`."""
    known = {model.model_id: model for model in facts.models}
    columns = "model_id", "sha256", "quantised", "tensor_parallel"
    return [{name: getattr(model, name) for name in columns} for model in known.values()]


def named(facts: Facts, asked: Parameters) -> list[Row]:
    """`queries.NAMED_MODELS`."""
    by_id: dict[str, list[CheckpointIngested]] = {}
    for model in facts.models:
        if model.model_id in asked["models"]:
            by_id.setdefault(model.model_id, []).append(model)
    found = [
        {
            "model_id": model_id,
            "names": ", ".join(sorted(model.name for model in models)),
            "batch": models[0].batch,
            "dims": models[0].dims,
        }
        for model_id, models in by_id.items()
    ]
    return sorted(found, key=lambda row: (row["names"], row["batch"], row["model_id"]))


def of_same_files(facts: Facts, asked: Parameters) -> list[Row]:
    """`queries.OF_SAME_FILES`."""
    digests = {model.sha256 for model in facts.models if model.model_id in asked["models"]}
    known = {model.model_id: model for model in facts.models if model.sha256 in digests}
    columns = "model_id", "sha256", "batch", "dims", "quantised", "tensor_parallel"
    return [{name: getattr(model, name) for name in columns} for model in known.values()]


def batch_sizes(facts: Facts, asked: Parameters) -> list[Row]:
    """`queries.BATCH_SIZES`."""
    found = {model.batch for model in facts.models if model.sha256 == asked["sha256"]}
    return [{"batch": batch} for batch in sorted(found)]


def layer_inputs(facts: Facts, asked: Parameters) -> list[Row]:
    """`queries.LAYER_INPUTS`."""
    return [facts.titles[key] for key in asked["layers"] if key in facts.titles]


def known_model(facts: Facts, asked: Parameters) -> list[Row]:
    """`stored_events.MODEL`."""
    named = [model for model in facts.models if model.model_id == asked["model"]]
    columns = (
        *("model_id", "architecture_id", "name", "zoo", "sha256", "opset", "batch", "dims"),
        *("quantised", "tensor_parallel", "layer_names"),
    )
    first = sorted(named, key=lambda model: model.name)[:1]
    return [{name: getattr(model, name) for name in columns} for model in first]


def graph(facts: Facts, asked: Parameters) -> list[Row]:
    """`stored_events.GRAPH`."""
    found = [event.event_id for event in _asked(facts, asked)]
    return [{"event_id": event_id} for event_id in found or [""]]


def layers(facts: Facts, asked: Parameters) -> list[Row]:
    """`stored_events.LAYERS`."""
    return [
        {"name": use.name, **asdict(event.summaries[use.summary])}
        for event in _asked(facts, asked)
        for use in event.layers
    ]


def edges(facts: Facts, asked: Parameters) -> list[Row]:
    """`stored_events.EDGES`."""
    ordered = sorted({edge for event in _asked(facts, asked) for edge in event.edges})
    return [{"source": source, "target": target} for source, target in ordered]


def groups(facts: Facts, asked: Parameters) -> list[Row]:
    """`stored_events.GROUPS`."""
    return [asdict(group) for event in _asked(facts, asked) for group in event.groups]


def forms(facts: Facts, asked: Parameters) -> list[Row]:
    """`forms.FORMS`."""
    return [facts.titles[key] for key in asked["fingerprints"] if key in facts.titles]


def without_bound(facts: Facts, asked: Parameters) -> list[Row]:
    """`unbounded_queries.MODELS`."""
    models = _without_bound(facts, asked)
    return [
        {
            "model": model.name,
            "model_id": model.model_id,
            "architecture_id": model.architecture_id,
            "batch": model.batch,
            "dims": model.dims,
            "layers": len(_to_measure(facts, model.architecture_id)),
        }
        for model in sorted(models, key=lambda model: (model.name, model.batch, model.model_id))
    ]


def measured_without_bound(facts: Facts, asked: Parameters) -> list[Row]:
    """`unbounded_queries.MEASURED`."""
    parts = {
        architecture: _to_measure(facts, architecture)
        for architecture in {model.architecture_id for model in _without_bound(facts, asked)}
    }
    tried = {
        (row["fingerprint"], row["system_id"], row["precision"])
        for row in facts.measured(set().union(*parts.values()))
        if not asked["precisions"] or row["precision"] in asked["precisions"]
    }
    counts: dict[tuple[str, str, str], int] = {}
    for architecture, fingerprints in parts.items():
        for fingerprint, system_id, precision in tried:
            if fingerprint in fingerprints:
                key = architecture, system_id, precision
                counts[key] = counts.get(key, 0) + 1
    return [
        {
            "architecture_id": architecture,
            "system_id": system_id,
            "system": described(facts, system_id)["system"],
            "precision": precision,
            "layers": layers,
        }
        for (architecture, system_id, precision), layers in sorted(
            counts.items(), key=lambda of: (of[0][0], -of[1], *of[0][1:])
        )
    ]


def _derivation(model: CheckpointIngested) -> Derivation:
    return Derivation(model.quantised, model.tensor_parallel)


def _asked(facts: Facts, asked: Parameters) -> list[ModelIngested]:
    """The architecture asked for, if it is there."""
    found = facts.graphs.get(asked["architecture"])
    return [] if found is None else [found]


def _without_bound(facts: Facts, asked: Parameters) -> list[CheckpointIngested]:
    bounded = {
        bound.architecture_id
        for bound in facts.bounds
        if (not asked["precisions"] or bound.precision in asked["precisions"])
        and (bound.accounting, bound.fusion) == (asked["accounting"], asked["fusion"])
    }
    return [
        model
        for model in facts.models
        if (not asked["models"] or model.model_id in asked["models"])
        and model.architecture_id not in bounded
    ]


def _to_measure(facts: Facts, architecture: str) -> set[str]:
    """The fingerprints of an architecture's layers and groups that can be measured."""
    of_layers, of_groups = facts.parts(architecture)
    counted = {of.fingerprint for of in of_layers if of.kind in ("compute", "movement")}
    return counted | {group.fingerprint for group in of_groups}
