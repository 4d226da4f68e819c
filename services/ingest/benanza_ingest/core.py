"""The core of ingest: takes a published model and returns its graph and layers as events."""

from collections.abc import Iterable, Iterator

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedLayer, ExtractedModel
from benanza_ingest.garbage import no_garbage_search
from benanza_ingest.least_work.least_flops import least_flops
from benanza_ingest.least_work.least_reads import Reads, fewest, least_reads
from benanza_ingest.limits import Limits
from benanza_schemas.architecture import architecture_id
from benanza_schemas.events import (
    MAX_NAME_LENGTH,
    MAX_REASON_LENGTH,
    CheckpointIngested,
    Group,
    LayerSeen,
    LayerSummary,
    LayerUse,
    ModelIngested,
    ModelPublished,
    event_id,
)
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation
from benanza_schemas.layer import Layer

INGEST_VERSION = "39"
"""Part of the ids of ingest's events. Raise it when a change gives them another content."""

MAX_BATCH_SIZES = 64
"""Of one event: each costs as much time as a model, and its events add to the answer's size."""

Ingested = ModelIngested | CheckpointIngested | LayerSeen
"""What ingest makes of a published model."""


@no_garbage_search()
def ingest(published: ModelPublished, content: bytes, limits: Limits) -> list[Ingested]:
    """The events of a published model, with the bytes of its ONNX file.

    Raises `ModelError` as `extract` does, and for more than `MAX_BATCH_SIZES`.
    """
    return events_of(published, extracted(published, content, limits))


def extracted(
    published: ModelPublished, content: bytes, limits: Limits
) -> Iterator[ExtractedModel]:
    """The model at each batch size that its publisher asks for. Raises `ModelError` as `ingest`."""
    for batch in batch_sizes(published):
        yield extract(
            content,
            batch=batch,
            dims=published.dims,
            limits=limits,
            granularity=published.granularity,
            derivation=published.derivation(),
        )


def batch_sizes(published: ModelPublished) -> tuple[int | None, ...]:
    """The batch sizes that are asked for; None is the model's own.

    Raises `ModelError` for more than `MAX_BATCH_SIZES`.
    """
    if (sizes := len(published.batch_sizes)) > MAX_BATCH_SIZES:
        raise ModelError(
            f"the event asks for {sizes} batch sizes, more than {MAX_BATCH_SIZES}; publish the "
            "model several times, with some of them each"
        )
    return published.batch_sizes or (None,)


def events_of(published: ModelPublished, models: Iterable[ExtractedModel]) -> list[Ingested]:
    """For each batch size a `ModelIngested` and a `CheckpointIngested`, and a `LayerSeen` for each
    distinct layer and group that can be benchmarked, and for each network of the granularity.
    """
    events: list[Ingested] = []
    for model in models:
        ingested = _ingested(published, model)
        events += [ingested, _checkpoint(published, ingested)]
        events.extend(_seen(ingested, model))
    return events


def model_id(
    sha256: str, batch: int, dims: dict[str, int], derivation: Derivation = AS_WRITTEN
) -> str:
    """The id of a model at one batch size: a hash of its file's SHA-256, of what was bound, and of
    what was derived.
    """
    bound = ",".join(f"{name}={number}" for name, number in sorted(dims.items()))
    return event_id("Model", sha256, str(batch), bound, *derivation.causes())


def ingested_id(name: str, zoo: str, model_id: str) -> str:
    """The id of the `ModelIngested` of a model with this name, zoo and model id."""
    return event_id("ModelIngested", name, zoo, model_id, INGEST_VERSION)


def checkpoint_id(published_id: str, model_id: str) -> str:
    """The id of the `CheckpointIngested` of a model that was published by the event of this id."""
    return event_id("CheckpointIngested", published_id, model_id, INGEST_VERSION)


def is_current(checkpoint: CheckpointIngested) -> bool:
    """Whether this version of ingest made it; another one may say something else of the model."""
    made = checkpoint_id(checkpoint.published_id, checkpoint.model_id)
    return checkpoint.event_id == made


def _ingested(published: ModelPublished, model: ExtractedModel) -> ModelIngested:
    identity = model_id(published.sha256, model.batch, model.dims, published.derivation())
    graphs = _graphs(model)
    reads = _least_reads(model)
    summaries: list[LayerSummary] = []
    places: dict[tuple[str, ...], int] = {}
    uses = []
    for layer in model.layers:
        # Layers of one fingerprint have the same summary, unless one is a view where it stands; a
        # skipped layer has no fingerprint.
        key: tuple[str, ...] = (layer.fingerprint, layer.kind)
        if not layer.fingerprint:
            key = (layer.op, layer.domain, layer.reason)
        if key not in places:
            places[key] = len(summaries)
            runs = layer.fingerprint in graphs and layer.kind != "view"
            graph = graphs[layer.fingerprint] if runs else None
            summaries.append(_summary(layer, graph, reads[layer.fingerprint]))
        uses.append(LayerUse(places[key], layer.name[:MAX_NAME_LENGTH]))
    groups = tuple(
        Group(g.fingerprint, g.rule, g.layers, g.flops, g.bytes, least_flops(g.layer))
        for g in model.groups
    )
    return ModelIngested(
        event_id=ingested_id(published.name, published.zoo, identity),
        model_id=identity,
        architecture_id=architecture_id(model.batch, summaries, uses, model.edges, groups),
        name=published.name,
        zoo=published.zoo,
        sha256=published.sha256,
        opset=model.opset,
        batch=model.batch,
        dims=model.dims,
        summaries=tuple(summaries),
        layers=tuple(uses),
        edges=model.edges,
        groups=groups,
        quantised=published.quantised,
        tensor_parallel=published.tensor_parallel,
    )


def _checkpoint(published: ModelPublished, model: ModelIngested) -> CheckpointIngested:
    return CheckpointIngested(
        event_id=checkpoint_id(published.event_id, model.model_id),
        model_id=model.model_id,
        architecture_id=model.architecture_id,
        name=model.name,
        zoo=model.zoo,
        sha256=model.sha256,
        opset=model.opset,
        batch=model.batch,
        dims=model.dims,
        layer_names=tuple(use.name for use in model.layers),
        published_id=published.event_id,
        quantised=model.quantised,
        tensor_parallel=model.tensor_parallel,
    )


def _graphs(model: ExtractedModel) -> dict[str, Layer]:
    """Each distinct layer and group that runs, by fingerprint."""
    graphs = {group.fingerprint: group.layer for group in model.groups}
    for layer in model.layers:
        if layer.layer is not None and layer.kind != "view":
            graphs[layer.fingerprint] = layer.layer
    return graphs


def _least_reads(model: ExtractedModel) -> dict[str, Reads]:
    """What the layers of each fingerprint read at the least: the least of those that the model has.

    In one place, what they read may be given, and in another one computed.
    """
    found: dict[str, Reads] = {}
    for layer, reads in zip(model.layers, least_reads(model.layers, model.edges), strict=True):
        found[layer.fingerprint] = fewest([reads, found.get(layer.fingerprint, reads)])
    return found


def _summary(layer: ExtractedLayer, runs: Layer | None, reads: Reads) -> LayerSummary:
    return LayerSummary(
        op=layer.op[:MAX_NAME_LENGTH],
        domain=layer.domain[:MAX_NAME_LENGTH],
        kind=layer.kind,
        fingerprint=layer.fingerprint,
        flops=layer.flops,
        bytes=layer.bytes,
        parameters=layer.parameters,
        reason=layer.reason[:MAX_REASON_LENGTH],
        least_flops=least_flops(runs) if runs else 0,
        least_weights=reads.bytes if runs else 0,
        least_fixed=reads.fixed if runs else 0,
    )


def _seen(ingested: ModelIngested, model: ExtractedModel) -> list[LayerSeen]:
    layers: dict[str, tuple[Layer, str]] = {}
    for layer in model.layers:
        if layer.layer is not None and layer.kind in ("compute", "movement"):
            layers.setdefault(layer.fingerprint, (layer.layer, ""))
    for group in model.groups:
        layers.setdefault(group.fingerprint, (group.layer, group.rule))
    for sequence in model.sequences:
        layers.setdefault(sequence.fingerprint, (sequence.layer, ""))
    return [
        LayerSeen(
            event_id=event_id("LayerSeen", ingested.event_id, fingerprint),
            fingerprint=fingerprint,
            layer=layer,
            model_id=ingested.model_id,
            rule=rule,
        )
        for fingerprint, (layer, rule) in layers.items()
    ]
