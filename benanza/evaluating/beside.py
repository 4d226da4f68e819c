"""An evaluation beside the model's bound on the same device, and what stands between them."""

import math
from collections import defaultdict
from collections.abc import Iterator

from benanza.evaluating.results import (
    EvaluatedModel,
    Evaluation,
    FrameworkLoss,
    LoadPart,
    MeasuredLoad,
)
from benanza.profiling.beside_bound import LowestBounds, beside_bound
from benanza.results.profile import ModelProfile
from benanza_analyzer.answers.kinds import InefficiencyKind
from benanza_backbone.clickhouse.queries import BATCH_SIZES
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import stored_profiles
from benanza_backbone.pasteable import pasteable
from benanza_ingest.core import model_id
from benanza_schemas.events import device

NO_BOUND = "no full bound of it is known on this device"


def beside(store: Store, evaluation: Evaluation) -> EvaluatedModel:
    """The evaluation beside what the store has. Raises `BenanzaError` as its queries do."""
    request, where = evaluation.request, device(evaluation.system)
    bounds = LowestBounds(store)
    found: dict[int, float] = {}
    for size, identity in _models(store, evaluation):
        lowest, _ = bounds.at(identity, request.precision, where)
        if lowest is not None and lowest.bound.sequential_us:
            found[size] = lowest.bound.sequential_us
    batch = _latency_batch(evaluation)
    bound_us = found.get(batch) if batch else None
    fastest = max(found, key=lambda size: size / found[size], default=None)
    return EvaluatedModel(
        evaluation=evaluation,
        bound_us=bound_us,
        bound_batch=batch if bound_us else None,
        bound_per_s=1e6 * fastest / found[fastest] if fastest else None,
        bound_per_s_batch=fastest,
        parts=tuple(_parts(evaluation, bound_us)),
        losses=tuple(_losses(store, bounds, evaluation)) if bound_us else (),
        without_bound="" if (bound_us if batch else fastest) else _without_bound(evaluation, batch),
    )


def _models(store: Store, evaluation: Evaluation) -> Iterator[tuple[int, str]]:
    """The models of the file by how many samples they take at once, with their ids."""
    if evaluation.as_in_file:
        yield 1, evaluation.model_id
        return
    for row in store.query(BATCH_SIZES, {"sha256": evaluation.sha256}):
        yield row["batch"], model_id(evaluation.sha256, row["batch"], evaluation.dims)


def _without_bound(evaluation: Evaluation, batch: int | None) -> str:
    """That there is no bound, and the command that finds one: at the batch size of a request, or of
    offline at the one of the most samples a second. Or that none can.
    """
    request, service = evaluation.request, evaluation.service
    at = f" at batch size {batch}" if batch and not (batch == 1 and evaluation.as_in_file) else ""
    if batch and service and evaluation.not_batched and batch > service[-1].batch:
        why = ", which the model can't be had at"
        return f"{NO_BOUND}{at}{why if evaluation.as_in_file else f'; {evaluation.not_batched}'}"
    fastest = max(service, key=lambda times: times.per_s, default=None)
    size = batch or (fastest.batch if fastest else 1)
    sizes = () if evaluation.as_in_file else ("--batch", str(size))
    dims = [word for name, value in request.dims.items() for word in ("--dim", f"{name}={value}")]
    asked = (*sizes, "--precision", request.precision)
    run = pasteable("benanza", "run", request.model, *asked, *dims)
    return f"{NO_BOUND}{at}; say: {run}"


def _latency_batch(evaluation: Evaluation) -> int | None:
    """The batch size of a request; `None` of offline, which has none."""
    request = evaluation.request
    sizes = {"multi-stream": request.streams, "offline": None}
    return sizes.get(request.scenario, 1)


def _parts(evaluation: Evaluation, bound_us: float | None) -> Iterator[LoadPart]:
    measured = evaluation.measured
    if measured is None or evaluation.request.scenario not in ("single-stream", "server"):
        return
    alone_us = evaluation.service[0].median_us
    if bound_us is not None:
        yield LoadPart(kind="the bound", us=bound_us)
    yield LoadPart(kind="the framework", us=alone_us - (bound_us or 0.0))
    batches_us = _alone_us(evaluation, measured)
    yield LoadPart(kind="larger batches", us=batches_us - alone_us)
    yield LoadPart(kind="load", us=measured.computing.mean_us - batches_us)
    yield LoadPart(kind="filling", us=measured.filling_us)
    yield LoadPart(kind="queueing", us=measured.queueing.mean_us - measured.filling_us)
    yield LoadPart(kind="issuing", us=measured.issuing_us)


def _alone_us(evaluation: Evaluation, measured: MeasuredLoad) -> float:
    """How long the batches that samples were in would take without load, on average of samples."""
    ascending = evaluation.service

    def us(size: int) -> float:
        return next(times.median_us for times in ascending if times.batch >= size)

    return math.fsum(size * count * us(size) for size, count in measured.batches.items()) / (
        measured.samples
    )


def _losses(store: Store, bounds: LowestBounds, evaluation: Evaluation) -> Iterator[FrameworkLoss]:
    profile = _profile(store, bounds, evaluation)
    saved: dict[InefficiencyKind, float] = defaultdict(float)
    for part in profile.parts if profile else ():
        if part.kind != "timing each call":
            saved[part.kind] += part.saved_us
    for kind, us in sorted(saved.items(), key=lambda item: -item[1]):
        yield FrameworkLoss(kind=kind, us=us)


def _profile(store: Store, bounds: LowestBounds, evaluation: Evaluation) -> ModelProfile | None:
    """The newest profile of the model in the same version of the framework and configuration."""
    events = [
        event
        for event in stored_profiles(store, evaluation.model_id)
        if event.system == evaluation.system
        and event.precision == evaluation.request.precision
        and event.configuration == evaluation.configuration
        and event.calls
    ]
    newest = max(events, key=lambda event: event.profiled_at, default=None)
    return beside_bound(bounds, evaluation.name, newest, events) if newest else None
