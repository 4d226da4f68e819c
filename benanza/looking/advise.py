"""`benanza advise`: what would make models faster in a framework. Nothing is run."""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import get_args

from benanza.installation.configured import known_store
from benanza.looking.model_ids import model_ids, of_the_same_file
from benanza.profiling.beside_bound import profiles_of
from benanza.profiling.framework import Framework, framework_named
from benanza.request import BoundPolicy
from benanza.results.advice import Advice, Advised, ModelAdvice, Source
from benanza.results.profiles import ModelProfile, ProfiledPart
from benanza_analyzer.answers.kinds import InefficiencyKind
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of
from benanza_schemas.layer import Precision

LAYERS_NAMED = 5


def known_advice(
    settings: Settings, models: Sequence[str], precisions: Sequence[Precision]
) -> Advised:
    """Advice about the newest runs of these models by frameworks, at these precisions.

    Raises `BenanzaError` for a model that has no bound, and if no framework ran any of them.
    """
    with known_store(settings) as store:
        ids = model_ids(store, models, limits_of(settings))
        bounds = store.bounds(ids)
        profiles = [
            profile
            for identity in dict.fromkeys(ids)
            for profile in profiles_of(store, identity, bounds)
        ]
        alike = of_the_same_file(store, bounds)
    if not profiles:
        named = " ".join(models)
        raise BenanzaError(f"no framework has run {named} yet; say: benanza profile {named}")
    advised = (
        advice_about(each, profiles, alike.get(each.model_id, ()))
        for each in profiles
        if each.precision in precisions
    )
    return Advised(models=tuple(advised))


def advice_about(
    profile: ModelProfile, profiles: Sequence[ModelProfile], bounds: Sequence[ModelBound]
) -> ModelAdvice:
    """Advice about a run, from the parts in which its bound saves time, from runs with other
    configurations among `profiles`, and from the `bounds` of the same file.
    """
    framework = None
    with suppress(BenanzaError):  # what was installed where it was profiled need not be here
        framework = framework_named(profile.framework)
    found: list[Advice] = []
    if profile.us is not None and profile.bound_us is not None:
        found += _of_parts(profile, profile.us, framework)
        found += _of_configurations(profile, profile.us, profile.bound_us, profiles, framework)
        found += _of_bounds(profile, profile.us, profile.bound_us, bounds)
    found.sort(key=lambda each: -each.saved_us)
    return ModelAdvice(profile=profile, advice=tuple(found))


def _of_parts(profile: ModelProfile, us: float, framework: Framework | None) -> Iterator[Advice]:
    """What the bound saves, by kind."""
    kinds: dict[InefficiencyKind, list[ProfiledPart]] = {}
    for part in profile.parts:
        if part.us > part.bound_us and part.kind != "timing each call":
            kinds.setdefault(part.kind, []).append(part)
    for kind, parts in kinds.items():
        saved_us = math.fsum(each.us - each.bound_us for each in parts)
        layers = [part.layers[0] for part in parts if part.layers]
        yield Advice(
            source="profile",
            what=kind,
            do=framework.remedy(kind, profile.configuration) if framework else "",
            saved_us=saved_us / profile.batch,
            spread_us=math.hypot(*(each.spread_us for each in parts)) / profile.batch,
            share=saved_us / us,
            layers=tuple(layers[:LAYERS_NAMED]),
        )


def _of_configurations(
    profile: ModelProfile,
    us: float,
    bound_us: float,
    profiles: Sequence[ModelProfile],
    framework: Framework | None,
) -> Iterator[Advice]:
    """What the framework has for all models would save, and what it saved where it was tried."""
    better = framework.better(profile.configuration) if framework else None
    if better is None:
        return
    between_us = math.fsum(each.us for each in profile.parts if each.kind == "between calls")
    timed = sum(part.bound_calls for part in profile.parts)
    # Fewer calls have less between them. All else is as in the bound.
    saved_us = us - bound_us - between_us * timed / max(1, len(profile.calls))
    if saved_us <= 0:
        return
    seen = [each.us for each in profiles if each.us and _is_with(better.name, each, profile)]
    yield Advice(
        source="other configuration",
        what=better.name,
        do=", ".join(f"{name} = {value}" for name, value in better.options.items()),
        saved_us=saved_us / profile.batch,
        share=saved_us / us,
        seen_us=(us - seen[0]) / profile.batch if seen else None,
    )


def _is_with(configuration: str, found: ModelProfile, profile: ModelProfile) -> bool:
    """Whether it is a run of the same model in the same framework with this configuration."""
    same = ("model_id", "device", "precision", "framework", "version")
    return found.configuration == configuration and all(
        getattr(found, name) == getattr(profile, name) for name in same
    )


def _of_bounds(
    profile: ModelProfile, us: float, bound_us: float, bounds: Sequence[ModelBound]
) -> Iterator[Advice]:
    """What the bounds at other precisions and at larger batches save, each for one sample. `bounds`
    are those of the same file.
    """
    policy = BoundPolicy(get_args(Precision))
    dims = next((each.dims for each in bounds if each.model_id == profile.model_id), None)
    of_system = (
        each
        for each in bounds
        if (each.system_id, each.dims, each.model) == (profile.bound_system_id, dims, profile.model)
        and policy.includes(each)
    )
    for bound in of_system:
        if bound.partial or not bound.sequential_us:
            continue
        saved_us = bound_us / profile.batch - bound.sequential_us / bound.batch
        source: Source
        what: str
        if bound.model_id == profile.model_id and bound.precision != profile.precision:
            source, what = "other precision", bound.precision
            do = f"convert the model, or what it is run in, to {bound.precision}"
        elif bound.precision == profile.precision and bound.batch > profile.batch:
            source, what = "larger batch", f"batch {bound.batch}"
            do = f"run {bound.batch} samples at a time"
        else:
            continue
        if saved_us > 0:
            yield Advice(
                source=source,
                what=what,
                do=do,
                saved_us=saved_us,
                spread_us=_spread_us(bound),
                share=saved_us * profile.batch / us,
            )


def _spread_us(bound: ModelBound) -> float | None:
    spread_us = bound.sequential_spread_us
    return None if spread_us is None else spread_us / bound.batch
