"""`benanza bounds --on`: bounds of a GPU that nobody has, from what was measured on others.

Nothing of it is stored.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benanza.installation.configured import known_store
from benanza.looking.bounds import matching_bounds
from benanza.looking.model_ids import model_ids
from benanza.looking.stored_bound import StoredBound, described_system
from benanza.predicting.results import NotPredicted, PredictedBound, PredictedBounds
from benanza.predicting.specification import known_sheets
from benanza.request import BoundPolicy
from benanza_analyzer.limits.ceilings import SystemCeilings
from benanza_analyzer.prediction.bound import predicted_bound
from benanza_analyzer.prediction.error_bars import ErrorBar, error_bar
from benanza_analyzer.prediction.gpu import GpuSpecification, Rates, rates_beside
from benanza_backbone.clickhouse.bounds import MissingLayer, ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of


class _Source(NamedTuple):
    """A measured system beside the target: the ceilings of both, and how well it predicts; or why
    it doesn't.
    """

    rates: tuple[Rates, Rates] | str
    bar: ErrorBar


def known_predictions(
    settings: Settings,
    models: Sequence[str],
    policy: BoundPolicy,
    dims: Mapping[str, int],
    target: GpuSpecification,
) -> PredictedBounds:
    """The bounds of these models, or of all, that are predicted for the target: of each model and
    precision one, learned from the measured system that is most like it, and that was measured
    with the most layers. The target itself doesn't count, and nor do bounds of zero.

    Only of models whose named dimensions include `dims`. Raises `BenanzaError` for a model that is
    not ingested, and where nothing can be predicted.
    """
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        stored = store.bounds(ids, None, policy.accounting)
        bounds = [b for b in matching_bounds(stored, policy, dims) if b.sequential_us]
        systems = {bound.system_id for bound in bounds}
        sources = {system_id: _source(store, system_id, target) for system_id in sorted(systems)}
        chosen: dict[tuple[str, str, str], list[ModelBound]] = {}
        refused = []
        for bound in bounds:
            if reason := _unfit(bound, sources[bound.system_id], target):
                refused.append(_refused(bound, reason))
            else:
                key = bound.model, bound.model_id, bound.precision
                chosen.setdefault(key, []).append(bound)
        predicted = [
            _predicted(StoredBound.of(store, best), sources[best.system_id])
            for best in (_best(candidates, sources) for candidates in chosen.values())
        ]
    if not predicted:
        raise BenanzaError(_nothing(target, refused))
    return PredictedBounds(
        on=target.name,
        figures=target.figures,
        predicted=tuple(predicted),
        not_predicted=tuple(refused),
    )


def _source(store: Store, system_id: str, target: GpuSpecification) -> _Source:
    described = described_system(store, system_id)
    accelerator = described.system.accelerator
    sheet = known_sheets().get(accelerator)
    bar = error_bar(sheet, target)
    if not accelerator:
        return _Source("it is no GPU", bar)
    if accelerator == target.name:
        return _Source("it is the GPU itself, and has measured bounds", bar)
    ceilings = SystemCeilings()
    ceilings.add(described)
    return _Source(rates_beside(ceilings, sheet, target), bar)


def _unfit(bound: ModelBound, source: _Source, target: GpuSpecification) -> str:
    """Why nothing is predicted from this bound; empty if it can be."""
    if isinstance(source.rates, str):
        return source.rates
    if bound.precision not in target.flops:
        return f"{target.name} has no rate of {bound.precision}; add it below [matrix]"
    return ""


def _refused(bound: ModelBound, reason: str) -> NotPredicted:
    return NotPredicted(
        model=bound.model,
        model_id=bound.model_id,
        batch=bound.batch,
        precision=bound.precision,
        system=bound.system,
        system_id=bound.system_id,
        reason=reason,
    )


def _best(candidates: Iterable[ModelBound], sources: Mapping[str, _Source]) -> ModelBound:
    return min(
        candidates,
        key=lambda bound: (
            sources[bound.system_id].bar.factor,
            len(bound.coverage.missing),
            bound.system_id,
        ),
    )


def _predicted(stored: StoredBound, source: _Source) -> PredictedBound:
    bound, model = stored.bound, stored.model
    assert not isinstance(source.rates, str)
    found = predicted_bound(
        model, stored.measurements, source.rates, bound.accounting, fusion=bound.fusion
    )
    sequential_us, parallel_us = found.sequential_us or 0.0, found.parallel_us or 0.0
    return PredictedBound(
        model=bound.model,
        model_id=bound.model_id,
        batch=bound.batch,
        dims=bound.dims,
        precision=bound.precision,
        accounting=bound.accounting,
        fusion=bound.fusion,
        predicted_sequential_us=sequential_us,
        low_us=sequential_us / source.bar.factor,
        high_us=sequential_us * source.bar.factor,
        predicted_parallel_us=parallel_us,
        error_bar=source.bar.factor,
        error_bar_learned=source.bar.learned,
        learned_from=bound.system,
        learned_from_id=bound.system_id,
        runtime=bound.runtime,
        measured_there_us=bound.sequential_us or 0.0,
        partial=bool(found.missing),
        layers=bound.layers,
        missing=tuple(
            MissingLayer(
                name=model.layers[position].name,
                op=model.summaries[model.layers[position].summary].op,
                reason=missing.reason,
            )
            for missing in found.missing
            for position in missing.layers
        ),
    )


def _nothing(target: GpuSpecification, refused: Sequence[NotPredicted]) -> str:
    if not refused:
        return (
            "nothing was measured that a bound could be predicted from; say: "
            "benanza import RECORDING, and benanza publish MODEL"
        )
    reasons = {f"{each.system or each.system_id[:8]}: {each.reason}" for each in refused}
    return f"no bound can be predicted for {target.name}: {'; '.join(sorted(reasons))}"
