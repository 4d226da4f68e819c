"""The best times of layers, and the systems that have them, from the store."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benanza.looking.stored_bound import described_system
from benanza.tracing.trace_model import TracedPart
from benanza.tracing.trace_queries import BEST_TIMES, SYSTEMS_BY_AGE
from benanza_analyzer.limits.ceilings import PlatformCeilings, SystemCeilings
from benanza_analyzer.limits.speed_of_light import speed_of_light, work_of_call
from benanza_backbone.clickhouse.store import Store
from benanza_ingest.extracted import ExtractedGroup, ExtractedLayer
from benanza_ingest.least_work.least_flops import least_flops
from benanza_schemas.layer import Precision

Key = tuple[str, Precision]
"""A layer's fingerprint, and a precision."""


class KnownTimes(NamedTuple):
    """What is known of layers on a system: the best time in microseconds, `None` where they were
    tried and have none. Without a system nothing is.
    """

    system_id: str
    system: str
    best_us: Mapping[Key, float | None]
    ceilings: SystemCeilings


NOTHING_KNOWN = KnownTimes("", "", {}, SystemCeilings())


def known_times(
    store: Store, parts: Sequence[TracedPart], device: str, *, on_gpu: bool
) -> KnownTimes:
    """Those of the system of this kind that knows most of the parts, of equals the newest.

    Without the name of a `device` each GPU, or each CPU, is of the kind that knows any. Raises
    `BenanzaError` as all queries do.
    """
    fingerprints = {one for part in parts for way in part.ways for one in way}
    best: dict[str, dict[Key, float | None]] = {}
    for row in store.query(BEST_TIMES, {"fingerprints": sorted(fingerprints)}):
        key = row["fingerprint"], row["precision"]
        best.setdefault(row["system_id"], {})[key] = row["us"]
    alike = [
        row
        for row in store.query(SYSTEMS_BY_AGE)
        if bool(row["accelerator"]) == on_gpu
        and (row["name"] == device if device else row["system_id"] in best)
    ]
    if not alike:
        return NOTHING_KNOWN
    chosen = max(alike, key=lambda row: _known(parts, best.get(row["system_id"], {})))
    system_id = chosen["system_id"]
    ceilings = SystemCeilings()
    ceilings.add(described_system(store, system_id))
    return KnownTimes(system_id, chosen["name"], best.get(system_id, {}), ceilings)


def bound_us(part: TracedPart, best_us: Mapping[Key, float | None]) -> float | None:
    """The least time of a part, by any way to compute it; `None` where none is known."""
    of_ways = ([best_us.get((one, part.precision)) for one in way] for way in part.ways)
    known = [[us for us in times if us is not None] for times in of_ways if None not in times]
    return min(map(math.fsum, known), default=None)


def light_us(part: TracedPart, ceilings: PlatformCeilings) -> float:
    """The speed of light of a part in microseconds, as it is computed by layers or by a group.

    Source: `benanza_analyzer.limits.speed_of_light`.
    """
    ways: list[Sequence[ExtractedLayer | ExtractedGroup]]
    ways = [[layer for layer in part.layers if layer.kind != "view"]]
    ways += [[group] for group in part.groups]
    return min(math.fsum(_call_us(call, part.precision, ceilings) for call in way) for way in ways)


def moving_us(moved: int, precision: Precision, ceilings: PlatformCeilings) -> float:
    """The speed of light in microseconds of a call that moves so many bytes, and no more."""
    return speed_of_light(work_of_call(moved, 0), ceilings, precision).us


def _call_us(
    call: ExtractedLayer | ExtractedGroup, precision: Precision, ceilings: PlatformCeilings
) -> float:
    flops = least_flops(call.layer) if call.layer else 0
    return speed_of_light(work_of_call(call.bytes, flops), ceilings, precision).us


def was_tried(part: TracedPart, best_us: Mapping[Key, float | None]) -> bool:
    """Whether nothing of a part waits to be measured."""
    return any(all((one, part.precision) in best_us for one in way) for way in part.ways)


def _known(parts: Sequence[TracedPart], best_us: Mapping[Key, float | None]) -> int:
    return sum(bool(part.layers) and bound_us(part, best_us) is not None for part in parts)
