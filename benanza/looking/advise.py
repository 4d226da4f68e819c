"""`benanza advise`: what would make models faster in a framework. Nothing is run."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from benanza.installation.configured import known_store
from benanza.looking.model_ids import model_ids, of_the_same_file
from benanza.looking.stored_bound import described_system
from benanza.profiling.beside_bound import profiles_of
from benanza.profiling.compiled import compiled_us
from benanza.profiling.remedies import Better, Remedies, remedies_of
from benanza.request import BoundPolicy
from benanza.results.advise import Advice, Advised, ModelAdvice, Source
from benanza.results.profile import ModelProfile, ProfiledPart
from benanza_analyzer.answers.kinds import InefficiencyKind
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.errors import BenanzaError
from benanza_backbone.pasteable import pasteable
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.events import device
from benanza_schemas.layer import Precision

LAYERS_NAMED = 5

RUN = ("model_id", "device", "precision", "framework", "version", "configuration")
"""What tells a run from others, as fields of `ModelProfile`."""


def known_advice(
    settings: Settings,
    models: Sequence[str],
    precisions: Sequence[Precision],
    system: str = "",
) -> Advised:
    """Advice about the newest runs of these models by frameworks, at these precisions or at all,
    on systems whose id begins so.

    Raises `BenanzaError` for a model that has no bound, and if no framework ran any of them.
    """
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        bounds = store.bounds(ids)
        profiles = profiles_of(store, ids, bounds)
        alike = of_the_same_file(store, bounds)
        on = {bound.system_id for bound in bounds if bound.system_id.startswith(system)}
        devices = {device(described_system(store, of).system) for of in on} if system else set()
    if not profiles:
        raise BenanzaError(
            f"no framework has run {' '.join(models)} yet; "
            f"say: {pasteable('benanza', 'profile', *models)}"
        )
    advised = (
        advice_about(profile, profiles, alike.get(profile.model_id, ()))
        for profile in profiles
        if not precisions or profile.precision in precisions
        if not system or profile.device in devices
    )
    return Advised(models=tuple(advised))


def advice_about(
    profile: ModelProfile, profiles: Sequence[ModelProfile], bounds: Sequence[ModelBound]
) -> ModelAdvice:
    """Advice about a run, from the parts in which its bound saves time, and from the `bounds` of
    the same file. What was saved where it was followed is seen in other runs among `profiles`.

    Of a run that its bound is above, only parts are compared: no difference of the two says more.
    """
    remedies = remedies_of(profile.framework)
    candidates: list[Advice] = []
    if profile.us is not None and profile.bound_us is not None:
        candidates += _of_parts(profile, profile.us, profiles, remedies)
        candidates += _of_states(profile, profile.us, remedies)
        if profile.us >= profile.bound_us:
            candidates += _of_configurations(
                profile, profile.us, profile.bound_us, profiles, remedies
            )
            candidates += _of_bounds(profile, profile.us, profile.bound_us, profiles, bounds)
    # The share of what is next to nothing is none.
    saving = (
        candidate for candidate in candidates if candidate.saved_us > 0 and candidate.share > 0
    )
    advice = tuple(sorted(saving, key=lambda candidate: -candidate.saved_us))
    return ModelAdvice(profile=profile, advice=advice)


def _of_parts(
    profile: ModelProfile,
    us: float,
    profiles: Sequence[ModelProfile],
    remedies: Remedies | None,
) -> Iterator[Advice]:
    """What the bound saves, by kind and by the framework's operators."""
    groups: dict[tuple[InefficiencyKind, str], list[ProfiledPart]] = {}
    in_run = profile.in_run
    for part in profile.parts:
        if part.us * in_run > part.bound_us and part.kind != "timing each call":
            groups.setdefault((part.kind, _timed_op(profile, part)), []).append(part)
    for (kind, op), parts in groups.items():
        saved_us = math.fsum(member.us * in_run - member.bound_us for member in parts)
        remedy = (
            remedies.remedy(kind, op, profile.configuration, on_gpu=profile.on_gpu)
            if remedies
            else None
        )
        layers = [part.layers[0] for part in parts if part.layers]
        yield Advice(
            source="profile",
            what=kind,
            op=op,
            times=len(parts),
            do=remedy.do if remedy else "",
            saved_us=saved_us / profile.batch,
            spread_us=math.hypot(*(member.spread_us for member in parts)) / profile.batch,
            share=saved_us / us,
            seen_us=_seen_us(profile, us, profiles, configuration=remedy.configuration)
            if remedy and remedy.configuration
            else None,
            layers=tuple(layers[:LAYERS_NAMED]),
        )


def _of_states(profile: ModelProfile, us: float, remedies: Remedies | None) -> Iterator[Advice]:
    """What it saves to keep states in place: what copying them adds to the bound, and no more than
    the run loses in the calls that read and write them.
    """
    copied = profile.copied_states
    if copied is None or remedies is None:
        return
    parts = [profile.parts[number] for number in copied.parts]
    ops = sorted({_timed_op(profile, part) for part in parts})
    remedy = remedies.states_in_place(ops)
    if remedy is None:
        return
    lost_us = math.fsum(part.us * profile.in_run - part.bound_us for part in parts)
    saved_us = min(copied.more_us, lost_us)
    layers = [part.layers[0] for part in parts if part.layers]
    yield Advice(
        source="states in place",
        what="states are copied",
        op=" or ".join(ops),
        times=len(parts),
        do=remedy.do,
        saved_us=saved_us / profile.batch,
        share=saved_us / us,
        layers=tuple(layers[:LAYERS_NAMED]),
    )


def _timed_op(profile: ModelProfile, part: ProfiledPart) -> str:
    """The operators of those calls of a part that take time, joined by `+`."""
    calls = (profile.calls[number] for number in part.calls)
    return "+".join(call.op for call in calls if call.us)


def _of_configurations(
    profile: ModelProfile,
    us: float,
    bound_us: float,
    profiles: Sequence[ModelProfile],
    remedies: Remedies | None,
) -> Iterator[Advice]:
    """What the framework has for all models would save, and what it saved where it was tried. Of a
    run whose calls aren't known, it isn't known what a compiler would join.
    """
    better = remedies.better(profile.configuration, on_gpu=profile.on_gpu) if remedies else None
    if better is None:
        return
    if better.joins == "all but products" and not profile.parts:
        return
    saved_us = us - _left_us(profile, us, bound_us, better)
    configuration = better.configuration
    yield Advice(
        source="other configuration",
        what=configuration.name,
        do=", ".join(f"{name} = {value}" for name, value in configuration.options.items()),
        saved_us=saved_us / profile.batch,
        share=saved_us / us,
        seen_us=_seen_us(profile, us, profiles, configuration=configuration.name),
    )


def _left_us(profile: ModelProfile, us: float, bound_us: float, better: Better) -> float:
    """How long the run takes with a configuration. Fewer calls have less time between them."""
    if better.joins == "nothing":
        return us - (0.0 if better.between_calls else profile.between_calls_us)
    if better.joins == "all but products":
        return compiled_us(profile, between_calls=better.between_calls)
    timed = sum(part.bound_calls for part in profile.parts)
    calls = sum(call.us > 0 for call in profile.calls)
    share = min(1.0, timed / max(1, calls)) if better.between_calls else 0.0
    return bound_us + profile.between_calls_us * share


def _seen_us(
    profile: ModelProfile, us: float, profiles: Iterable[ModelProfile], **other: str
) -> float | None:
    """What one sample took less in a run that differs from this one in nothing else; `None` if
    there is no such run.
    """
    wanted = {name: getattr(profile, name) for name in RUN} | other
    for run in profiles:
        if run.us and all(getattr(run, name) == value for name, value in wanted.items()):
            return us / profile.batch - run.us / run.batch
    return None


def _of_bounds(
    profile: ModelProfile,
    us: float,
    bound_us: float,
    profiles: Sequence[ModelProfile],
    bounds: Sequence[ModelBound],
) -> Iterator[Advice]:
    """What the bounds at other precisions and at larger batches save, each for one sample. `bounds`
    are those of the same file. What a run takes beyond its bound is taken to stay as it is.
    """
    policy = BoundPolicy(get_args(Precision))
    dims = next(
        (candidate.dims for candidate in bounds if candidate.model_id == profile.model_id), None
    )
    of_system = (
        candidate
        for candidate in bounds
        if (candidate.system_id, candidate.dims, candidate.model)
        == (profile.bound_system_id, dims, profile.model)
        and policy.includes(candidate)
    )
    for bound in of_system:
        if bound.partial or not bound.sequential_us:
            continue
        beyond_us = us - bound_us
        saved_us = us / profile.batch - (bound.sequential_us + beyond_us) / bound.batch
        source: Source
        what: str
        if bound.model_id == profile.model_id and bound.precision != profile.precision:
            if profile.waits_for_host:
                continue
            source, what = "other precision", bound.precision
            do = f"convert the model, or what it is run in, to {bound.precision}"
            seen_us = _seen_us(profile, us, profiles, precision=bound.precision)
        elif bound.precision == profile.precision and bound.batch > profile.batch:
            source, what = "larger batch", f"batch {bound.batch}"
            do = f"run {bound.batch} samples at a time"
            seen_us = _seen_us(profile, us, profiles, model_id=bound.model_id)
        else:
            continue
        yield Advice(
            source=source,
            what=what,
            do=do,
            saved_us=saved_us,
            spread_us=_spread_us(bound),
            share=saved_us * profile.batch / us,
            seen_us=seen_us,
        )


def _spread_us(bound: ModelBound) -> float | None:
    spread_us = bound.sequential_spread_us
    return None if spread_us is None else spread_us / bound.batch
