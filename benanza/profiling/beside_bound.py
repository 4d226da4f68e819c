"""A framework's run of a model beside the model's bound on the same device."""

from collections.abc import Sequence
from typing import NamedTuple

from benanza.looking.stored_bound import StoredBound
from benanza.request import BoundPolicy
from benanza.results.profiles import ModelProfile, ProfiledCall, ProfiledKernel, ProfiledPart
from benanza_analyzer.answers.calls import Call
from benanza_analyzer.answers.inefficiency import Inefficiency, inefficiencies
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import stored_profiles, stored_system
from benanza_schemas.events import ModelIngested, ModelProfiled, device
from benanza_schemas.layer import Precision


class Lowest(NamedTuple):
    """The lowest full bound of a model on a device, and its calls."""

    stored: StoredBound
    calls: list[Call]


class LowestBounds:
    """The lowest full bounds of the models in a store. Each is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: dict[tuple[str, Precision, str], Lowest | None] = {}

    def of(self, event: ModelProfiled) -> Lowest | None:
        """That of the profile's model, on its device and at its precision.

        Raises `BenanzaError` as the store's queries do.
        """
        key = event.model_id, event.precision, device(event.system)
        if key not in self._found:
            self._found[key] = self._read(*key)
        return self._found[key]

    def _read(self, model_id: str, precision: Precision, where: str) -> Lowest | None:
        policy = BoundPolicy((precision,))
        found = [
            each
            for each in self._store.bounds([model_id])
            if policy.includes(each) and not each.partial and each.sequential_us is not None
            if self._device(each.system_id) == where
        ]
        if not found:
            return None
        stored = StoredBound.of(self._store, min(found, key=lambda each: each.sequential_us or 0.0))
        return Lowest(stored, stored.cover(fusion=True).calls)

    def _device(self, system_id: str) -> str | None:
        """The device of a system; `None` if the store lacks it."""
        try:
            return device(stored_system(self._store, system_id).system)
        except LookupError:  # the sink may be behind
            return None


def profiles_of(store: Store, identity: str, bounds: Sequence[ModelBound]) -> list[ModelProfile]:
    """The newest profiles of the model with this id, which has its name from one of the bounds."""
    name = next((each.model for each in bounds if each.model_id == identity), identity)
    lowest = LowestBounds(store)
    return [beside_bound(lowest, name, event) for event in stored_profiles(store, identity)]


def beside_bound(bounds: LowestBounds, name: str, event: ModelProfiled) -> ModelProfile:
    """The profile of the model that people call `name`, with the parts in which its lowest full
    bound saves time, if it has one.
    """
    lowest = bounds.of(event)
    parts: tuple[ProfiledPart, ...] = ()
    if lowest is not None and event.times is not None and event.times_looked_at is not None:
        found = inefficiencies(event.times, event.times_looked_at, event.calls, lowest.calls)
        parts = tuple(_part(each, event, lowest.stored.model) for each in found)
    bound = lowest.stored.bound if lowest else None
    system, times, looked_at = event.system, event.times, event.times_looked_at
    return ModelProfile(
        model=name,
        model_id=event.model_id,
        batch=event.batch,
        device=device(system),
        on_gpu=bool(system.accelerator),
        precision=event.precision,
        framework=system.runtime,
        version=system.libraries.get(system.runtime, ""),
        configuration=event.configuration,
        options=event.options,
        profiled_at=event.profiled_at,
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
                kernels=tuple(
                    ProfiledKernel(name=each.name, start_us=each.start_us, us=each.median_us)
                    for each in call.kernels
                ),
            )
            for call in event.calls
        ),
        bound_us=bound.sequential_us if bound else None,
        bound_system_id=bound.system_id if bound else "",
        parts=parts,
        slowed_by=event.environment.get("slowed_by", ""),
        failure=event.failure,
    )


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
