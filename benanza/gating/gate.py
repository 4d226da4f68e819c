"""`benanza gate`: whether the runs of models keep limits."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from benanza.gating.baseline import SLOWED_BY, Baseline, Earlier, EarlierRun
from benanza.gating.results import Gate, GateCheck, GatedRun
from benanza.gating.verdicts import REPETITIONS, Varying, check, unknown, varying
from benanza.installation.configured import known_store
from benanza.looking.model_ids import model_ids
from benanza.profiling.beside_bound import LowestBounds
from benanza.profiling.profile import ProfileRequest, run_models
from benanza.profiling.repetitions import medians_us
from benanza.request import RunRequest, has_dims
from benanza.results.bounds import FailedModel
from benanza.running.progress import RunProgress
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import stored_profiles
from benanza_backbone.errors import BenanzaError
from benanza_backbone.pasteable import pasteable
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import ModelProfiled, device

NO_BOUND = "no bound of it is known on this device; say: benanza run"

NOTHING = "its bound is 0, as it computes nothing that takes time; compare it with an earlier run"

MISSING = "its bound lacks layers, which may take the rest; say: benanza explain"

_NAMES = "SELECT model_id, any(name) AS name, any(dims) AS dims FROM models GROUP BY model_id"


class GateLimits(NamedTuple):
    """What runs must keep: at least one of the two."""

    max_ratio: float | None = None
    no_slower_than: Baseline | None = None


class _Run(NamedTuple):
    """A run of a model that people call `name`, at these sizes."""

    name: str
    dims: dict[str, int]
    event: ModelProfiled


def gate(
    request: RunRequest,
    framework: str,
    limits: GateLimits,
    settings: Settings,
    *,
    stored: bool = False,
    progress: RunProgress | None = None,
) -> Gate:
    """Runs each model in the framework, or takes the `stored` runs: of each model, at each batch
    size and precision and on each device, the one with the fastest configuration.

    Raises `BenanzaError` if there is no such framework, if the log or the store can't be used, for
    a baseline that can't be read, and where nothing is `stored` of a model.
    """
    baseline = limits.no_slower_than
    earlier = None if baseline is None else Earlier(baseline, REPETITIONS)
    runs: list[_Run] = []
    errors: tuple[FailedModel, ...] = ()
    if not stored:
        asked = ProfileRequest(request, framework, repetitions=REPETITIONS)
        ran, errors = run_models(asked, settings, progress)
        runs = [_Run(each.event.name, dict(each.dims), event) for each, event in ran]
        if not runs:
            return Gate(runs=(), errors=errors)
    with known_store(settings) as store:
        if stored:
            runs = _stored(store, request, framework, settings)
        judge = _Judge(store, limits.max_ratio, earlier)
        return Gate(runs=tuple(map(judge.gated, runs)), errors=errors)


def _stored(store: Store, request: RunRequest, framework: str, settings: Settings) -> list[_Run]:
    ids = model_ids(store, request.models, limits_of(settings))
    named = {row["model_id"]: row for row in store.query(_NAMES)}
    found = []
    for identity in dict.fromkeys(ids):
        row = named[identity]
        events = [
            event
            for event in stored_profiles(store, identity, failures=True)
            if event.system.runtime == framework
            and event.precision in request.policy.precisions
            and (not request.batch_sizes or event.batch in request.batch_sizes)
            and has_dims(request.dims, batch=event.batch, dims=row["dims"])
        ]
        found += [_Run(row["name"], row["dims"], event) for event in _fastest(events)]
    if not found:
        models = request.models
        raise BenanzaError(
            f"no run of {' '.join(models)} in {framework} is stored at "
            f"{', '.join(request.policy.precisions)}; "
            f"say: {pasteable('benanza', 'profile', *models)}"
        )
    return found


def _fastest(events: Iterable[ModelProfiled]) -> list[ModelProfiled]:
    """Of each device and precision, the run of the newest version with the fastest configuration;
    one that failed only where all did.
    """
    alike: dict[tuple[str, str], list[ModelProfiled]] = defaultdict(list)
    for event in events:
        alike[device(event.system), event.precision].append(event)
    return [min(_of_newest_version(runs), key=_us) for runs in alike.values()]


def _of_newest_version(runs: Sequence[ModelProfiled]) -> list[ModelProfiled]:
    libraries = max(runs, key=lambda run: run.profiled_at).system.libraries
    return [run for run in runs if run.system.libraries == libraries]


def _us(event: ModelProfiled) -> float:
    return event.times.median_us if event.times else float("inf")


class _Judge:
    """Checks runs against the limits, by what a store knows."""

    def __init__(self, store: Store, max_ratio: float | None, earlier: Earlier | None) -> None:
        self._store = store
        self._bounds = LowestBounds(store)
        self._max_ratio = max_ratio
        self._earlier = earlier

    def gated(self, run: _Run) -> GatedRun:
        """The run, with what comes of each limit."""
        event = run.event
        repeated = medians_us(event.times, REPETITIONS) if event.times else ()
        took = varying(repeated) if repeated else None
        gated = GatedRun(
            model=run.name,
            model_id=event.model_id,
            batch=event.batch,
            dims=run.dims,
            precision=event.precision,
            device=device(event.system),
            framework=event.system.runtime,
            version=event.system.libraries.get(event.system.runtime, ""),
            configuration=event.configuration,
            profiled_at=event.profiled_at,
            us=took.us if took else None,
            medians_us=repeated,
            slowed_by=event.environment.get(SLOWED_BY, ""),
            failure=event.failure,
            checks=(),
        )
        checks = []
        if self._max_ratio is not None:
            checks.append(self._beside_bound(self._max_ratio, event, took))
        if self._earlier is not None:
            checks.append(self._beside_earlier(self._earlier, gated, event, took))
        return msgspec.structs.replace(gated, checks=tuple(checks))

    def _beside_bound(
        self, allowed: float, event: ModelProfiled, took: Varying | None
    ) -> GateCheck:
        lowest, partial = self._bounds.of(event)
        bound = lowest.bound if lowest else partial
        if took is None:
            return unknown("max-ratio", allowed, event.failure)
        if bound is None:
            return unknown("max-ratio", allowed, NO_BOUND)
        if not bound.partial and not bound.sequential_us:
            return unknown("max-ratio", allowed, NOTHING)
        doubt = MISSING if bound.partial else _slowed(event)
        return check("max-ratio", allowed, took, _of_bound(bound), doubt)

    def _beside_earlier(
        self, earlier: Earlier, run: GatedRun, event: ModelProfiled, took: Varying | None
    ) -> GateCheck:
        if took is None:
            return unknown("no-slower-than", 1.0, event.failure)
        known = earlier.run_beside(self._store, run, event.event_id)
        if isinstance(known, str):
            return unknown("no-slower-than", 1.0, known)
        doubts = _slowed(event), _slowed_before(known)
        return check("no-slower-than", 1.0, took, varying(known.medians_us), *doubts)


def _slowed(event: ModelProfiled) -> str:
    by = event.environment.get(SLOWED_BY, "")
    return f"the run was slowed down by {by}; repeat it on an idle machine" if by else ""


def _slowed_before(run: EarlierRun) -> str:
    by = run.slowed_by
    return f"the earlier run was slowed down by {by}; record it on an idle machine" if by else ""


def _of_bound(bound: ModelBound) -> Varying:
    us, spread_us = bound.sequential_us or 0.0, bound.sequential_spread_us or 0.0
    return Varying(us, us - spread_us, us + spread_us)
