"""`benanza what-if --quantised`: what quantising models is worth, by known bounds of them and of
what they become. Nothing is benchmarked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from benanza.installation.configured import known_store
from benanza.looking.bounds import matching_bounds
from benanza.looking.model_ids import model_ids
from benanza.looking.stored_bound import StoredBound
from benanza.quantised.products import product_fingerprints, product_worths
from benanza.quantised.worth import QuantisationWorth, QuantisationWorths
from benanza.request import BoundPolicy
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.queries import LAYER_INPUTS, OF_SAME_FILES
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.pasteable import pasteable
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events.derivation import Derivation, Quantised
from benanza_schemas.given_values import is_given
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import BATCH_NAMES


class _Point(NamedTuple):
    """A model at one batch size, with what is derived of it."""

    sha256: str
    batch: int
    dims: tuple[tuple[str, int], ...]
    derivation: Derivation


def known_quantisations(
    settings: Settings,
    model: str,
    quantised: Sequence[Quantised],
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
    system: str = "",
) -> QuantisationWorths:
    """What each of these types of weights is worth for the model, at each point at which it has a
    bound at one of these precisions whose named dimensions include `dims`.

    Bounds are those with groups under the accounting `full`, on the same system. Raises
    `BenanzaError` for a model that has no bound or is quantised itself, and if no bound of it with
    quantised weights is known.
    """
    policy = BoundPolicy(tuple(precisions), system=system)
    with known_store(settings) as store:
        ids = model_ids(store, [model], limits_of(settings))
        bounds = matching_bounds(store.bounds(ids), policy, dims)
        points = _points(store, ids)
        by_point = {point: identity for identity, point in points.items()}
        worths, to_run = [], []
        for bound in bounds:
            point = points[bound.model_id]
            if point.derivation.quantised:
                raise BenanzaError(f"{bound.model} is quantised already; name the model in floats")
            for to in quantised:
                derivation = point.derivation._replace(quantised=to)
                sibling = by_point.get(point._replace(derivation=derivation))
                other = _beside(store, bound, policy, [sibling] if sibling else [])
                if other is None:
                    to_run.append(_command(model, bound, derivation))
                else:
                    worths.append(_worth(store, bound, to, other))
    if to_run and not worths:
        raise BenanzaError(f"no such bound with quantised weights is known; say: {to_run[0]}")
    return QuantisationWorths(worths=tuple(worths), to_run=tuple(to_run))


def _points(store: Store, ids: Sequence[str]) -> dict[str, _Point]:
    """What these models are, and what others of the same files."""
    return {
        row["model_id"]: _Point(
            row["sha256"],
            row["batch"],
            tuple(sorted(row["dims"].items())),
            Derivation(row["quantised"], row["tensor_parallel"]),
        )
        for row in store.query(OF_SAME_FILES, {"models": list(ids)})
    }


def _beside(
    store: Store, bound: ModelBound, policy: BoundPolicy, siblings: Sequence[str]
) -> ModelBound | None:
    """The first bound of these models on the same system and at the same precision."""
    found = store.bounds(siblings) if siblings else []
    wanted = bound.system_id, bound.precision
    return next(
        (o for o in found if policy.includes(o) and (o.system_id, o.precision) == wanted), None
    )


def _worth(store: Store, bound: ModelBound, to: Quantised, other: ModelBound) -> QuantisationWorth:
    us, other_us = bound.sequential_us, other.sequential_us
    if bound.partial or other.partial or us is None or other_us is None:
        return QuantisationWorth(
            bound=bound,
            quantised=to,
            other=other,
            saved_us=None,
            share=None,
            products=(),
            elsewhere_us=None,
        )
    before, after = (StoredBound.of(store, each) for each in (bound, other))
    worths = product_worths(
        before.model,
        before.cover(fusion=bound.fusion).calls,
        after.model,
        after.cover(fusion=bound.fusion).calls,
        _shapes(store, product_fingerprints(before.model)),
    )
    return QuantisationWorth(
        bound=bound,
        quantised=to,
        other=other,
        saved_us=us - other_us,
        share=(us - other_us) / us if us else None,
        products=tuple(worths),
        elsewhere_us=us - other_us - sum(worth.saved_us for worth in worths),
    )


def _shapes(store: Store, fingerprints: Iterable[str]) -> dict[str, Sequence[Sequence[int]]]:
    rows = store.query(LAYER_INPUTS, {"layers": list(fingerprints)})
    return {row["fingerprint"]: row["input_shapes"] for row in rows}


def _command(model: str, bound: ModelBound, derivation: Derivation) -> str:
    """What finds the bound of the derived model."""
    words = ["benanza", "run", model, "--precision", bound.precision, *_bound(bound)]
    words += ["--quantised", derivation.quantised]
    if derivation.tensor_parallel > 1:
        words += ["--tensor-parallel", str(derivation.tensor_parallel)]
    return pasteable(*words)


def _bound(bound: ModelBound) -> Iterator[str]:
    if bound.batch > 1 and not any(name.lower() in BATCH_NAMES for name in bound.dims):
        yield from ("--batch", str(bound.batch))
    for name, size in bound.dims.items():
        yield from ("--value", name) if is_given(name) else ("--dim", f"{name}={size}")
