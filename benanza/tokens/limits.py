"""What limits a step: weights, what is kept, arithmetic or launches; and the energy it takes."""

import math
from collections.abc import Iterable, Mapping
from typing import TypeVar

from benanza.looking.stored_bound import StoredBound
from benanza.tokens.generation import Kind, Limit, TimeByKind, TimeByLimit
from benanza_analyzer.answers.calls import Call
from benanza_analyzer.limits.ceilings import PlatformCeilings
from benanza_analyzer.limits.speed_of_light import BYTES_KEPT, MICROSECONDS
from benanza_analyzer.measurements import fastest
from benanza_backbone.clickhouse.queries import LAYER_INPUTS
from benanza_backbone.clickhouse.store import Store
from benanza_schemas.element_types import size_bytes
from benanza_schemas.operators.table import facts_of

Name = TypeVar("Name", bound=str)

POWER = "watts"
"""What the environment of a measurement on a GPU has the power under."""

SHORT = 2
"""A call is short if it takes at most so many times as long as the shortest."""


class StepCalls:
    """The calls that the bound of a step adds up."""

    def __init__(self, store: Store, stored: StoredBound) -> None:
        """Reads what else it needs. Raises `BenanzaError` as the store's queries do."""
        self._stored = stored
        self._cover = stored.cover(fusion=stored.bound.fusion)
        self._constant_bytes = _constant_bytes(store, (c.fingerprint for c in self._cover.calls))
        self._measured = stored.by_layer()

    def kinds(self) -> tuple[TimeByKind, ...]:
        """The shares of the kinds of calls, the greatest first."""
        spent: dict[Kind, float] = {"attention": 0.0, "products": 0.0, "others": 0.0}
        for call in self._cover.calls:
            spent[self._kind(call)] += call.us
        return tuple(TimeByKind(kind=kind, share=share) for kind, share in _shares(spent))

    def limits(self) -> tuple[TimeByLimit, ...]:
        """The shares of what limits calls, the greatest first; none where the ceilings of the
        system aren't known.
        """
        ceilings = self._stored.ceilings()
        if ceilings is None:
            return ()
        shortest_us = min((call.us for call in self._cover.calls if call.us), default=0.0)
        spent: dict[Limit, float] = {}
        kept = BYTES_KEPT[self._stored.bound.precision]
        for call in self._cover.calls:
            constants = self._constant_bytes.get(call.fingerprint, 0) * kept
            attends = self._kind(call) == "attention"
            limit = limit_of(call, ceilings, shortest_us, constants=constants, attends=attends)
            spent[limit] = spent.get(limit, 0.0) + call.us
            spent["other values"] = spent.get("other values", 0.0) + call.conversion_us
        shares = [(limit, share) for limit, share in _shares(spent) if share]
        return tuple(TimeByLimit(limit=limit, share=share) for limit, share in shares)

    def joules(self) -> float | None:
        """The energy of the step: each call's time at the power that the device took when the call
        was measured, on each of the devices that it is split over; `None` where that isn't known of
        each call.
        """
        taken = []
        for call in self._cover.calls:
            if us := call.us + call.conversion_us:
                watts = self._environment(call).get(POWER)
                if watts is None:
                    return None
                taken.append(float(watts) * us / MICROSECONDS)
        return math.fsum(taken) * self._stored.model.tensor_parallel if taken else None

    def _environment(self, call: Call) -> Mapping[str, str]:
        """The conditions under which the call's time was taken."""
        selection = self._cover.layouts[call.positions]
        best = (
            (found[0], event.environment)
            for event in self._measured.get(call.fingerprint, ())
            if (found := fastest([event], selection)) is not None
        )
        return min(best, key=lambda candidate: candidate[0], default=(None, {}))[1]

    def _kind(self, call: Call) -> Kind:
        """By the operators of the call's layers: a softmax between products is that of attention,
        and one by itself may be that of a choice of experts.
        """
        model = self._stored.model
        ops = [model.summaries[model.layers[position].summary] for position in call.positions]
        kinds = [facts_of(op.op, op.domain).kind for op in ops]
        between = any(op.op == "Softmax" for op in ops) and kinds.count("product") > 1
        if "attention" in kinds or between:
            return "attention"
        return "products" if "product" in kinds else "others"


def limit_of(
    call: Call,
    ceilings: PlatformCeilings,
    shortest_us: float,
    *,
    constants: float,
    attends: bool,
) -> Limit:
    """What a call waits for that has constants of so many bytes, in a bound whose shortest call
    takes `shortest_us`.
    """
    # Of tables and experts only a part is read: no more than all that the call moves.
    weights = 0.0 if attends else min(constants, call.bytes)
    moved: dict[Limit, float] = {
        "weights": weights,
        "cache" if attends else "other values": call.bytes - weights,
    }
    share_us = _moving_us(call.bytes, ceilings) / call.bytes if call.bytes else 0.0
    alone = {limit: size * share_us for limit, size in moved.items()}
    alone["arithmetic"] = call.flops / ceilings.flops * MICROSECONDS
    longest = max(alone, key=lambda limit: alone[limit])
    short = call.us <= SHORT * shortest_us and alone[longest] < call.us / SHORT
    return "launches" if short else longest


def _moving_us(moved: float, ceilings: PlatformCeilings) -> float:
    """To move so many bytes of one call: all of them from the last cache, or from the memory what
    is more than that holds.
    """
    beyond = max(moved - ceilings.cache_bytes, 0.0) if ceilings.cache_bytes else 0.0
    from_memory = beyond / ceilings.memory if ceilings.memory else 0.0
    return max(moved / ceilings.bandwidth, from_memory) * MICROSECONDS


def _shares(spent: Mapping[Name, float]) -> list[tuple[Name, float]]:
    whole = math.fsum(spent.values()) or 1.0
    by_time = sorted(spent.items(), key=lambda item: -item[1])
    return [(name, us / whole) for name, us in by_time]


def _constant_bytes(store: Store, fingerprints: Iterable[str]) -> dict[str, int]:
    """The bytes of the constant inputs of these layers and groups."""
    layers = sorted(set(fingerprints) - {""})
    return {
        row["fingerprint"]: sum(
            size_bytes(dtype, math.prod(shape))
            for shape, dtype, constant in zip(
                row["input_shapes"], row["input_dtypes"], row["input_constants"], strict=True
            )
            if constant
        )
        for row in store.query(LAYER_INPUTS, {"layers": layers})
    }
