"""`benanza questions`: the six questions of the paper, answered from what is stored."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from benanza.installation.configured import known_store
from benanza.looking.bounds import matching_bounds
from benanza.looking.model_ids import model_ids
from benanza.looking.stored_bound import described_system
from benanza.profiling.beside_bound import profiles_of
from benanza.request import BoundPolicy
from benanza.results.profile import ModelProfile, contradiction
from benanza.results.questions import Answers, ModelAnswers
from benanza_analyzer.answers.algorithms import Algorithms, best_algorithms
from benanza_analyzer.answers.kinds import InefficiencyKind
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_unfused import fastest_variants, stored_without_groups
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import System, device
from benanza_schemas.layer import Precision

NEEDLESS: frozenset[InefficiencyKind] = frozenset(
    ("between calls", "synchronisation", "conversions and copies", "unmatched", "no call needed")
)


class BoundKind(NamedTuple):
    """What tells a bound from others under the same accounting."""

    model: str
    model_id: str
    system_id: str
    precision: Precision
    fusion: bool


Known = Mapping[BoundKind, ModelBound]


def known_answers(
    settings: Settings,
    models: Sequence[str],
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
    system: str = "",
) -> Answers:
    """The answers for the bounds of these models with fusion under the accounting `full`.

    Raises `BenanzaError` for a model that has no bound.
    """
    policy = BoundPolicy(tuple(precisions), system=system)
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        bounds = store.bounds(ids, accounting=policy.accounting)
        asked = matching_bounds(bounds, policy, dims)
        profiles = profiles_of(store, ids, bounds)
        systems = {
            of: described_system(store, of).system for of in {bound.system_id for bound in asked}
        }
        algorithms = _algorithms(store, asked, systems)
    known = {_kind(bound): bound for bound in bounds}
    return Answers(
        models=tuple(
            _answers(
                bound,
                known,
                _fastest_run(bound, device(systems[bound.system_id]), profiles),
                algorithms.get((bound.system_id, bound.precision, bound.model_id)),
            )
            for bound in asked
        )
    )


def _kind(bound: ModelBound) -> BoundKind:
    return BoundKind(bound.model, bound.model_id, bound.system_id, bound.precision, bound.fusion)


def _answers(
    bound: ModelBound, known: Known, run: ModelProfile | None, algorithms: Algorithms | None
) -> ModelAnswers:
    run_us = run.us if run else None
    whole = not bound.partial
    unfused = known[_kind(bound)._replace(fusion=False)]
    # Where layers are missing in one of them only, they can't be compared.
    alike = unfused.coverage.missing == bound.coverage.missing
    beaten = contradiction(run_us, bound.sequential_us)
    return ModelAnswers(
        bound=bound,
        framework=f"{run.framework} {run.version}, {run.configuration}" if run else "",
        framework_us=run_us,
        contradiction=beaten,
        speed_up=_ratio(run_us, bound.sequential_us) if whole and not beaten else None,
        parallel_speed_up=_ratio(run_us, bound.parallel_us) if whole and not beaten else None,
        parallel_us=_less(bound.sequential_us, bound.parallel_us),
        algorithms_us=algorithms.saved_us if algorithms else None,
        algorithm_layers=algorithms.layers if algorithms else 0,
        inefficiency_us=_needless_us(run) if run else None,
        fusion_us=_less(unfused.sequential_us, bound.sequential_us) if alike else None,
        tf32_us=_saved_at("tf32", bound, known),
        fp16_us=_saved_at("fp16", bound, known),
    )


def _fastest_run(
    bound: ModelBound, where: str, profiles: Iterable[ModelProfile]
) -> ModelProfile | None:
    """The fastest run of the same model on the bound's device and at its precision."""
    beside = bound.model_id, bound.precision, where
    runs = [
        run
        for run in profiles
        if run.us is not None and (run.model_id, run.precision, run.device) == beside
    ]
    return min(runs, key=lambda run: run.us or 0.0, default=None)


def _algorithms(
    store: Store, asked: Sequence[ModelBound], systems: Mapping[str, System]
) -> dict[tuple[str, Precision, str], Algorithms]:
    """What the best algorithms save, by system, precision and model id."""
    graphs = stored_without_groups(store, [bound.model_id for bound in asked])
    ids: dict[tuple[str, Precision], set[str]] = defaultdict(set)
    for bound in asked:
        ids[bound.system_id, bound.precision].add(bound.model_id)
    algorithms = {}
    for (system_id, precision), these in ids.items():
        measured = fastest_variants(store, sorted(these), systems[system_id], precision)
        models = (graph for graph in graphs if graph.model_id in these)
        for model_id, saved in best_algorithms(models, measured).items():
            algorithms[system_id, precision, model_id] = saved
    return algorithms


def _needless_us(run: ModelProfile) -> float | None:
    if not run.parts:
        return None
    return run.in_run * math.fsum(part.us for part in run.parts if part.kind in NEEDLESS)


def _saved_at(precision: Precision, bound: ModelBound, known: Known) -> float | None:
    """What the same bound at another precision saves; `None` if it is not known in full."""
    other = known.get(_kind(bound)._replace(precision=precision))
    if other is None or precision == bound.precision or bound.partial or other.partial:
        return None
    return _less(bound.sequential_us, other.sequential_us)


def _ratio(us: float | None, of_us: float | None) -> float | None:
    return us / of_us if us and of_us else None


def _less(us: float | None, than_us: float | None) -> float | None:
    return None if us is None or than_us is None else us - than_us
