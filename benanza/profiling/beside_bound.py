"""A framework's run of a model beside the model's bound on the same device."""

from collections.abc import Sequence

from benanza.looking.stored_bound import StoredBound
from benanza.request import BoundPolicy
from benanza.results.profiles import ModelProfile, ProfiledCall, ProfiledPart
from benanza_analyzer.answers.inefficiency import Inefficiency, inefficiencies
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import stored_profiles, stored_system
from benanza_schemas.events import ModelIngested, ModelProfiled, device


def profiles_of(store: Store, identity: str, bounds: Sequence[ModelBound]) -> list[ModelProfile]:
    """The newest profiles of the model with this id, which has its name from one of the bounds."""
    name = next((each.model for each in bounds if each.model_id == identity), identity)
    return [beside_bound(store, name, event) for event in stored_profiles(store, identity)]


def beside_bound(store: Store, name: str, event: ModelProfiled) -> ModelProfile:
    """The profile of the model that people call `name`, with the parts in which the lowest full
    bound of the store saves time, if it has one.

    Raises `BenanzaError` as the store's queries do.
    """
    bound = _lowest(store, event)
    parts: tuple[ProfiledPart, ...] = ()
    if bound is not None and event.times_looked_at is not None:
        stored = StoredBound.of(store, bound)
        calls = stored.cover(fusion=True).calls
        found = inefficiencies(event.times_looked_at, event.calls, calls)
        parts = tuple(_part(each, event, stored.model) for each in found)
    system, times, looked_at = event.system, event.times, event.times_looked_at
    return ModelProfile(
        model=name,
        model_id=event.model_id,
        batch=event.batch,
        device=device(system),
        precision=event.precision,
        framework=system.runtime,
        version=system.libraries.get(system.runtime, ""),
        configuration=event.configuration,
        options=event.options,
        us=times.median_us if times else None,
        iqr_us=times.iqr_us if times else None,
        looked_at_us=looked_at.median_us if looked_at else None,
        calls=tuple(
            ProfiledCall(
                name=call.name,
                op=call.op,
                positions=call.layers,
                start_us=call.start_us,
                us=call.median_us,
                iqr_us=call.iqr_us,
            )
            for call in event.calls
        ),
        bound_us=bound.sequential_us if bound else None,
        bound_system_id=bound.system_id if bound else "",
        parts=parts,
        slowed_by=event.environment.get("slowed_by", ""),
        failure=event.failure,
    )


def _lowest(store: Store, event: ModelProfiled) -> ModelBound | None:
    """The lowest full bound of the profile's model on its device."""
    policy = BoundPolicy((event.precision,))
    found = [
        each
        for each in store.bounds([event.model_id])
        if policy.includes(each) and not each.partial and each.sequential_us is not None
    ]
    on_device = (
        each
        for each in found
        if device(stored_system(store, each.system_id).system) == device(event.system)
    )
    return min(on_device, key=lambda each: each.sequential_us or 0.0, default=None)


def _part(found: Inefficiency, event: ModelProfiled, model: ModelIngested) -> ProfiledPart:
    return ProfiledPart(
        kind=found.kind,
        positions=found.positions,
        layers=tuple(model.layers[at].name for at in found.positions),
        op="+".join(event.calls[at].op for at in found.calls),
        calls=found.calls,
        bound_calls=found.bound_calls,
        us=found.us,
        bound_us=found.bound_us,
        spread_us=found.spread_us,
    )
