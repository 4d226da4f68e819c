"""Bounds of the zoo beside their speeds of light, and attainable estimates beside measured ones.

What is recorded is held in memory: nothing is stored.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from msgspec.structs import replace

from benanza.importing.recording import read_recording
from benanza_analyzer.answers.calls import Call
from benanza_analyzer.core import Analyzer
from benanza_analyzer.limits.ceilings import PlatformCeilings, SystemCeilings
from benanza_analyzer.limits.speed_of_light import (
    BYTES_KEPT,
    Work,
    speed_of_light,
    work_of_call,
)
from benanza_analyzer.measurements import STARTED_US
from benanza_analyzer.models.integers import computes_with_integers
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_schemas.events import (
    BoundUpdated,
    LayerMeasured,
    LayerSummary,
    ModelIngested,
    ModelPublished,
    SystemMeasured,
)
from benanza_schemas.events.derivation import Quantised
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import CacheState

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)

CONVOLUTIONS = "convolutions"
MATRICES = "matrices"
MIXED = "both"
ModelKind = Literal["convolutions", "matrices", "both"]
"""What most of a model's operations are of: by two thirds, or neither."""


class Rung(NamedTuple):
    """A full bound of a model, with fusion.

    `in_full_us` is the speed of light with convolutions that take as many operations as they are
    defined with, `in_steps_us` the same with one product after the other, and `apart_us` the sum of
    those of the calls alone, which read and write all that passes between them. `guessed` is the
    bound with its attainable estimate from warm times alone. `passed_bytes` are the most that a
    layer reads and writes for one of the batch besides its constants, in 16 bits.
    """

    model: str
    kind: ModelKind
    bound: BoundUpdated
    in_full_us: float
    in_steps_us: float
    apart_us: float
    guessed: BoundUpdated
    passed_bytes: float
    calls: tuple["TimedCall", ...]


class TimedCall(NamedTuple):
    """A call of a bound: the operators in it, its time, and its speed of light."""

    ops: frozenset[str]
    us: float
    light_us: float


class Recorded(NamedTuple):
    """Analyzers that know what recordings say: all of it; only the warm times; and only the
    ceilings. `ceilings` are those of each system.
    """

    whole: Analyzer
    warm: Analyzer
    bare: Analyzer
    ceilings: dict[str, SystemCeilings]


def recorded(paths: Iterable[Path]) -> Recorded:
    """What these files say. Raises `BenanzaError` as `read_recording` does."""
    known = Recorded(Analyzer(), Analyzer(), Analyzer(), {})
    for _, event in chain.from_iterable(map(read_recording, paths)):
        if isinstance(event, SystemMeasured):
            known.ceilings.setdefault(event.system.system_id, SystemCeilings()).add(event)
            for analyzer in known[:3]:
                analyzer.restore(event)
        elif isinstance(event, LayerMeasured):
            known.whole.restore(event)
            known.warm.restore(_warm(event))
    return known


def _warm(event: LayerMeasured) -> LayerMeasured:
    return replace(
        event, variants=tuple(v for v in event.variants if v.failure or v.cache == CacheState.WARM)
    )


def models(
    names: Iterable[str],
    batches: tuple[int, ...],
    dims: Mapping[str, int] | None = None,
    quantised: Quantised = "",
) -> Iterator[ModelIngested]:
    """What ingest says of these models of the zoo at these batch sizes, with these dimensions and
    weights, without those that it can't bring to it.
    """
    for name in names:
        found = fetch(name, Limits())
        published = ModelPublished(
            event_id="0" * 32,
            name=name,
            sha256=found.sha256,
            batch_sizes=batches,
            dims=dict(dims or {}),
            quantised=quantised,
        )
        events = ingest(published, found.content, Limits())
        yield from (event for event in events if isinstance(event, ModelIngested))


def rungs(known: Recorded, model: ModelIngested) -> Iterator[Rung]:
    """The bounds of a model on each system and at each precision that lack no layer."""
    of_full = _with_convolutions_in_full(model)
    whole, warm, in_full = (
        {(of.system_id, of.precision): of for of in analyzer.handle(taken, LONG_AGO) if _counts(of)}
        for analyzer, taken in (
            (known.whole, model),
            (known.warm, model),
            (known.bare, of_full),
        )
    )
    for (system, precision), bound in whole.items():
        ceilings = known.ceilings[system].of(precision) if system in known.ceilings else None
        if bound.missing or not ceilings or not bound.sequential_us:
            continue
        of = bound.architecture_id, system, precision, bound.accounting
        calls = tuple(
            _timed(call, model, ceilings, precision)
            for call in known.whole.cover(*of, fusion=True).calls
            if call.us >= STARTED_US
        )
        yield Rung(
            model.name,
            kind_of(model),
            bound,
            in_full[system, precision].roofline_us or 0.0,
            _in_steps_us(of_full, ceilings, precision),
            math.fsum(call.light_us for call in calls),
            warm[system, precision],
            _passed_bytes(model),
            calls,
        )


def _counts(bound: BoundUpdated) -> bool:
    return bound.accounting == "full" and bound.fusion


def _timed(
    call: Call, model: ModelIngested, ceilings: PlatformCeilings, precision: Precision
) -> TimedCall:
    work = work_of_call(call.bytes / BYTES_KEPT[precision], call.least_flops)
    light = speed_of_light(work, ceilings, precision)
    ops = frozenset(model.summaries[model.layers[at].summary].op for at in call.positions)
    return TimedCall(ops, call.us, min(light.us, call.us))


def _in_steps_us(model: ModelIngested, ceilings: PlatformCeilings, precision: Precision) -> float:
    """The least time of the model's products one after the other."""
    times_us = []
    for use in model.layers:
        of = model.summaries[use.summary]
        if of.least_flops:
            reads = np.array([of.least_weights], np.float64), np.array([of.least_fixed], np.float64)
            flops = 0 if computes_with_integers(of) else of.least_flops
            times_us.append(speed_of_light(Work(*reads, flops, 1.0), ceilings, precision).us)
    return math.fsum(times_us)


def _passed_bytes(model: ModelIngested) -> float:
    return max(
        (of.bytes - of.least_weights) * BYTES_KEPT["fp16"] / model.batch
        for of in model.summaries
        if of.least_flops
    )


def kind_of(model: ModelIngested) -> ModelKind:
    """By the operations of its products, all of them."""
    flops = {True: 0, False: 0}
    for use in model.layers:
        summary = model.summaries[use.summary]
        if summary.least_flops:
            flops[is_convolution(summary)] += summary.flops
    total = sum(flops.values())
    if 3 * flops[True] >= 2 * total:
        return "convolutions"
    return "matrices" if 3 * flops[False] >= 2 * total else "both"


def is_convolution(summary: LayerSummary) -> bool:
    """Whether a layer is a convolution."""
    return "Conv" in summary.op


def _with_convolutions_in_full(model: ModelIngested) -> ModelIngested:
    """The model as if no fast algorithm of convolutions were known."""
    summaries = tuple(
        replace(of, least_flops=of.flops) if is_convolution(of) and of.least_flops else of
        for of in model.summaries
    )
    groups = []
    for group in model.groups:
        inside = [model.layers[at].summary for at in group.layers]
        more = sum(summaries[at].least_flops - model.summaries[at].least_flops for at in inside)
        groups.append(
            replace(group, least_flops=group.least_flops + more) if group.least_flops else group
        )
    return replace(model, summaries=summaries, groups=tuple(groups))
