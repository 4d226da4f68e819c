"""`benanza questions`: the six questions of the paper, answered from what is stored."""

import math
from collections.abc import Mapping, Sequence

from benanza.installation.configured import known_store
from benanza.looking.bounds import is_meant
from benanza.looking.model_ids import model_ids
from benanza.looking.stored_bound import StoredBound
from benanza.profiling.beside_bound import profiles_of
from benanza.request import BoundPolicy
from benanza.results.profiles import ModelProfile, contradiction
from benanza.results.questions import Answers, ModelAnswers
from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.answers.differences import differences
from benanza_analyzer.answers.kinds import InefficiencyKind
from benanza_analyzer.answers.policies import HEURISTIC, UNFUSED, Policy
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.layer import Precision

NEEDLESS: frozenset[InefficiencyKind] = frozenset(
    ("between calls", "synchronisation", "conversions and copies", "unmatched", "no call needed")
)


def known_answers(
    settings: Settings,
    models: Sequence[str],
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
) -> Answers:
    """The answers for the bounds of these models with fusion under the accounting `full`.

    Raises `BenanzaError` for a model that has no bound.
    """
    policy = BoundPolicy(tuple(precisions))
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        bounds = store.bounds(ids)
        asked = [each for each in bounds if is_meant(each, policy, dims)]
        profiles = [
            profile
            for identity in dict.fromkeys(ids)
            for profile in profiles_of(store, identity, bounds)
        ]
        found = [_answers(StoredBound.of(store, each), bounds, profiles) for each in asked]
    return Answers(models=tuple(found))


def _answers(
    stored: StoredBound, bounds: Sequence[ModelBound], profiles: Sequence[ModelProfile]
) -> ModelAnswers:
    bound = stored.bound
    run = _fastest_run(stored, profiles)
    whole = not bound.partial
    run_us = run.us if run else None
    algorithms_us, layers = _algorithms(stored)
    unfused_us = _sequential_us(stored.cover(UNFUSED, fusion=False))
    beaten = contradiction(run_us, bound.sequential_us)
    return ModelAnswers(
        bound=bound,
        framework=f"{run.framework} {run.version}, {run.configuration}" if run else "",
        framework_us=run_us,
        contradiction=beaten,
        speed_up=_ratio(run_us, bound.sequential_us) if whole and not beaten else None,
        parallel_speed_up=_ratio(run_us, bound.parallel_us) if whole and not beaten else None,
        parallel_us=_less(bound.sequential_us, bound.parallel_us),
        algorithms_us=algorithms_us,
        algorithm_layers=layers,
        inefficiency_us=_needless_us(run) if run else None,
        fusion_us=_less(unfused_us, bound.sequential_us),
        tf32_us=_saved_at("tf32", bound, bounds),
        fp16_us=_saved_at("fp16", bound, bounds),
    )


def _fastest_run(stored: StoredBound, profiles: Sequence[ModelProfile]) -> ModelProfile | None:
    runs = [each for each in profiles if each.us is not None and stored.is_beside(each)]
    return min(runs, key=lambda each: each.us or 0.0, default=None)


def _algorithms(stored: StoredBound) -> tuple[float | None, int]:
    """What the best algorithms save, and in how many layers."""
    chosen, best = (_cover(stored, policy) for policy in (HEURISTIC, UNFUSED))
    if not stored.asked_heuristics() or chosen.lacking > best.lacking:
        return None, 0
    found = differences(chosen.calls, best.calls)
    layers = sum(len(each.positions) for each in found if each.saved_us > 0)
    return chosen.sequential_us - best.sequential_us, layers


def _cover(stored: StoredBound, policy: Policy) -> Cover:
    return stored.cover(policy, fusion=policy.fusion)


def _sequential_us(cover: Cover) -> float | None:
    return cover.sequential_us if not cover.lacking else None


def _needless_us(run: ModelProfile) -> float | None:
    if not run.parts:
        return None
    return run.in_run * math.fsum(each.us for each in run.parts if each.kind in NEEDLESS)


def _saved_at(
    precision: Precision, bound: ModelBound, bounds: Sequence[ModelBound]
) -> float | None:
    """What the same bound at another precision saves; `None` if it is not known in full."""
    for other in () if bound.partial else bounds:
        same = ("model_id", "model", "system_id", "fusion", "accounting")
        alike = all(getattr(other, name) == getattr(bound, name) for name in same)
        if alike and other.precision == precision != bound.precision and not other.partial:
            return _less(bound.sequential_us, other.sequential_us)
    return None


def _ratio(us: float | None, of_us: float | None) -> float | None:
    return us / of_us if us and of_us else None


def _less(us: float | None, than_us: float | None) -> float | None:
    return None if us is None or than_us is None else us - than_us
