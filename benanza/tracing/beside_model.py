"""A trace beside a model: which of its layers ran, how often, and what its bound is."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benanza.errors import about
from benanza.request import BoundPolicy
from benanza.tracing.results import TracedCalls, TracedModel
from benanza_backbone.clickhouse.store import Store
from benanza_ingest.core import model_id
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_schemas.events.derivation import AS_WRITTEN
from benanza_schemas.layer import Precision


class GivenModel(NamedTuple):
    """A model that a trace may be of, by its name and id, with its layers."""

    name: str
    identity: str
    extracted: ExtractedModel


def given_model(
    model: str, batch: int | None, dims: Mapping[str, int], limits: Limits
) -> GivenModel:
    """MODEL at a batch size. Raises `BenanzaError` as `inspect` does."""
    with about(model):
        fetched = fetch(model, limits)
        found = extract(fetched.content, batch=batch, dims=dims, limits=limits)
    identity = model_id(fetched.sha256, found.batch, found.dims, AS_WRITTEN)
    return GivenModel(fetched.name, identity, found)


def beside_model(
    given: GivenModel, calls: Sequence[TracedCalls], store: Store | None, system_id: str
) -> TracedModel:
    """Which layers of a model the operators of a trace are. Without a `store` no bound is known."""
    names: dict[str, str] = {}
    uses: Counter[str] = Counter()
    for layer in given.extracted.layers:
        if layer.kind in ("compute", "movement"):
            names.setdefault(layer.fingerprint, layer.name)
            uses[layer.fingerprint] += 1
    ran: Counter[str] = Counter()
    for call in calls:
        for fingerprint in call.fingerprints:
            ran[fingerprint] += call.calls
    found = [fingerprint for fingerprint in uses if fingerprint in ran]
    precision = _precision(calls)
    return TracedModel(
        model=given.name,
        batch=given.extracted.batch,
        layers=len(uses),
        found=len(found),
        absent=tuple(name for fingerprint, name in names.items() if fingerprint not in ran),
        executions=median(ran[each] / uses[each] for each in found) if found else None,
        precision=precision,
        bound_us=_bound_us(store, given.identity, system_id, precision) if store else None,
    )


def _precision(calls: Sequence[TracedCalls]) -> Precision:
    """That of the layers that take most of the time."""
    times: dict[Precision, float] = {}
    for call in calls:
        if call.fingerprints:
            times[call.precision] = times.get(call.precision, 0.0) + call.us
    return max(times, key=times.__getitem__, default="fp32")


def _bound_us(store: Store, identity: str, system_id: str, precision: Precision) -> float | None:
    policy = BoundPolicy((precision,))
    return next(
        (
            bound.sequential_us
            for bound in store.bounds([identity])
            if policy.includes(bound) and bound.system_id == system_id and not bound.partial
        ),
        None,
    )
