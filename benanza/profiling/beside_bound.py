"""A framework's run of a model beside the model's bound on the same device."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from benanza.looking.stored_bound import StoredBound
from benanza.profiling.remedies import remedies_of
from benanza.request import BoundPolicy
from benanza.results.profile import (
    CopiedStates,
    ModelProfile,
    ProfiledCall,
    ProfiledKernel,
    ProfiledPart,
    contradiction,
)
from benanza_analyzer.answers.calls import Call, Cover
from benanza_analyzer.answers.inefficiency import inefficiencies
from benanza_analyzer.answers.kinds import Inefficiency
from benanza_analyzer.answers.policies import STATES_COPIED
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import (
    profiled_models,
    stored_profiles,
    stored_system,
)
from benanza_runner.core import ON_TENSOR_CORES
from benanza_schemas.events import FrameworkCall, ModelIngested, ModelProfiled, device
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import STATE_AS_WRITTEN


class Lowest:
    """The lowest full bound of a model on a device. Its layers and its calls are read once they are
    asked for: only runs whose calls were timed need them.
    """

    def __init__(self, store: Store, bound: ModelBound) -> None:
        self._store = store
        self.bound = bound

    @cached_property
    def _stored(self) -> StoredBound:
        return StoredBound.of(self._store, self.bound)

    @cached_property
    def _cover(self) -> Cover:
        return self._stored.cover(fusion=True)

    @property
    def calls(self) -> list[Call]:
        """The calls of the bound. Raises `BenanzaError` as `StoredBound.of` does."""
        return self._cover.calls

    @cached_property
    def copying_us(self) -> float | None:
        """How much longer the bound would be with its states copied; `None` if that wasn't
        measured. Raises likewise.
        """
        copying = self._stored.cover(STATES_COPIED, fusion=True)
        if copying.lacking > self._cover.lacking:
            return None
        return copying.sequential_us - self._cover.sequential_us

    def model(self) -> ModelIngested:
        """The model, with its layers. Raises likewise."""
        return self._stored.model


class Beside(NamedTuple):
    """The lowest full bound of a model on a device; where none is full, the greatest partial one:
    a bound without some layers is one as well.
    """

    lowest: Lowest | None = None
    partial: ModelBound | None = None


class LowestBounds:
    """The bounds of the models in a store that runs stand beside. Each is read once; `bounds` are
    all of some models, if they have been read before.
    """

    def __init__(self, store: Store, bounds: Iterable[ModelBound] = ()) -> None:
        self._store = store
        self._bounds: dict[str, list[ModelBound]] = {}
        for bound in bounds:
            self._bounds.setdefault(bound.model_id, []).append(bound)
        self._devices: dict[str, str | None] = {}
        self._found: dict[tuple[str, Precision, str], Beside] = {}

    def of(self, event: ModelProfiled) -> Beside:
        """That of the profile's model, on its device and at its precision.

        Raises `BenanzaError` as the store's queries do.
        """
        return self.at(event.model_id, event.precision, device(event.system))

    def at(self, model_id: str, precision: Precision, where: str) -> Beside:
        """That of a model at a precision on a device. Raises likewise."""
        key = model_id, precision, where
        if key not in self._found:
            self._found[key] = self._read(*key)
        return self._found[key]

    def _read(self, model_id: str, precision: Precision, where: str) -> Beside:
        policy = BoundPolicy((precision,))
        if model_id not in self._bounds:
            self._bounds[model_id] = self._store.bounds([model_id])
        bounds = [
            bound
            for bound in self._bounds[model_id]
            if policy.includes(bound) and bound.sequential_us is not None
            if self._device(bound.system_id) == where
        ]
        full = [bound for bound in bounds if not bound.partial]
        if not full:
            return Beside(partial=max(bounds, key=_sequential_us, default=None))
        return Beside(Lowest(self._store, min(full, key=_sequential_us)))

    def _device(self, system_id: str) -> str | None:
        """The device of a system; `None` if the store lacks it."""
        if system_id not in self._devices:
            try:
                self._devices[system_id] = device(stored_system(self._store, system_id).system)
            except LookupError:  # the sink may be behind
                self._devices[system_id] = None
        return self._devices[system_id]


def _sequential_us(bound: ModelBound) -> float:
    return bound.sequential_us or 0.0


def profiles_of(
    store: Store, ids: Sequence[str], bounds: Sequence[ModelBound]
) -> list[ModelProfile]:
    """The newest profiles of the models with these ids. `bounds` are all of these models under the
    accounting `full`, and perhaps others; they have the models' names.
    """
    names = {bound.model_id: bound.model for bound in reversed(bounds)}
    lowest = LowestBounds(store, bounds)
    profiles = []
    for identity in profiled_models(store, ids):
        name = names.get(identity, identity)
        events = stored_profiles(store, identity)
        profiles += [beside_bound(lowest, name, event, events) for event in events]
    return profiles


def beside_bound(
    bounds: LowestBounds, name: str, event: ModelProfiled, others: Iterable[ModelProfiled]
) -> ModelProfile:
    """The profile of the model that people call `name`, with the parts in which its lowest full
    bound saves time, if it has one. Where its calls couldn't be timed, they are those of one of the
    `others` that makes the same calls. Calls of layers that the model had before are left out.
    """
    lowest, partial = bounds.of(event)
    timed = _timed(event, others)
    model = lowest.model() if lowest is not None and timed.calls else None
    if model is not None and not _are_of(model, timed.calls):
        timed, model = msgspec.structs.replace(timed, calls=()), None
    parts: tuple[ProfiledPart, ...] = ()
    # That calls were timed in another run cost this one nothing.
    looking = timed.times_looked_at if timed is event else event.times
    if lowest is not None and event.times is not None and looking is not None:
        slow_parts = inefficiencies(event.times, looking, timed.calls, lowest.calls)
        parts = tuple(_part(slow_part, timed, lowest.model()) for slow_part in slow_parts)
    copied_states = _copied_states(lowest, parts) if lowest is not None and parts else None
    bound = lowest.bound if lowest else None
    partial_us = partial.sequential_us if partial else None
    system, times, looked_at = event.system, event.times, event.times_looked_at
    us = times.median_us if times else None
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
        us=us,
        iqr_us=times.iqr_us if times else None,
        looked_at_us=looked_at.median_us if looked_at else None,
        calls=tuple(
            ProfiledCall(
                name=call.name,
                op=call.op,
                positions=call.layers,
                multiplies=_multiplies(call, model),
                start_us=call.start_us,
                us=call.median_us,
                iqr_us=call.iqr_us,
                kernels=tuple(
                    ProfiledKernel(name=kernel.name, start_us=kernel.start_us, us=kernel.median_us)
                    for kernel in call.kernels
                ),
            )
            for call in timed.calls
        ),
        calls_of=timed.configuration if timed is not event else "",
        bound_us=bound.sequential_us if bound else None,
        bound_system_id=bound.system_id if bound else "",
        parts=parts,
        slowed_by=event.environment.get("slowed_by", ""),
        failure=event.failure,
        contradiction=contradiction(us, bound.sequential_us if bound else partial_us),
        partial_bound_us=partial_us,
        missing_layers=len(partial.coverage.missing) if partial else 0,
        copied_states=copied_states,
    )


def _timed(event: ModelProfiled, others: Iterable[ModelProfiled]) -> ModelProfiled:
    """The run whose calls are those of this one: another, if they were timed there alone."""
    if event.times is None or event.calls:
        return event
    remedies = remedies_of(event.system.runtime)
    if remedies is None:
        return event
    same = remedies.same_calls(event.configuration)
    alike = (event.model_id, event.system.system_id, event.precision, event.batch, same)
    for other in others:
        of = (
            other.model_id,
            other.system.system_id,
            other.precision,
            other.batch,
            other.configuration,
        )
        if other.calls and of == alike:
            return other
    return event


def _are_of(model: ModelIngested, calls: Iterable[FrameworkCall]) -> bool:
    """Whether these calls may be of the model's layers, and not of those that it had before it was
    ingested anew.
    """
    return all(position < len(model.layers) for call in calls for position in call.layers)


def _multiplies(call: FrameworkCall, model: ModelIngested | None) -> bool:
    """Whether a call computes a product; of a model without a bound it isn't known."""
    if model is None:
        return False
    ops = (model.summaries[model.layers[position].summary].op for position in call.layers)
    return not ON_TENSOR_CORES.isdisjoint(ops)


def _copied_states(lowest: Lowest, parts: Sequence[ProfiledPart]) -> CopiedStates | None:
    groups = lowest.model().groups
    states = {group.layers[0] for group in groups if group.rule == STATE_AS_WRITTEN}
    copying = tuple(
        number
        for number, part in enumerate(parts)
        if part.calls and part.us > part.bound_us and states.intersection(part.positions)
    )
    if not copying or lowest.copying_us is None:
        return None
    return CopiedStates(parts=copying, more_us=lowest.copying_us)


def _part(slow_part: Inefficiency, event: ModelProfiled, model: ModelIngested) -> ProfiledPart:
    return ProfiledPart(
        **msgspec.structs.asdict(slow_part),
        layers=tuple(model.layers[position].name for position in slow_part.positions),
        op="+".join(event.calls[number].op for number in slow_part.calls),
    )
