"""Where a framework's run of a model takes longer than the bound.

Benanza (Li et al., IPDPS 2020) asks this as its fourth question.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from statistics import median

from benanza_analyzer.answers.calls import Call
from benanza_analyzer.answers.differences import differences
from benanza_analyzer.answers.kinds import CONVERSIONS, Inefficiency, InefficiencyKind
from benanza_schemas.events import FrameworkCall, RunTimes

COPY = "Memcpy"
"""Begins the names of copies among kernels."""

TO_HOST = "Memcpy DtoH"
"""Begins the names of copies from the GPU to the host among kernels."""


def inefficiencies(
    run: RunTimes,
    looked_at: RunTimes,
    calls: Sequence[FrameworkCall],
    cover: Sequence[Call],
) -> list[Inefficiency]:
    """The parts of a run that takes this long, `looked_at` if each of its calls is timed, beside a
    bound that adds up `cover`; those in which the bound saves most first.

    Together, the parts take as long as the run that was looked at, if that is as long as its calls
    or longer, and as the bound. What looking costs passes between the calls.
    """
    own = [
        Call(call.layers, "", call.median_us, 0.0, 0.0, 0, 0, critical=False)
        for call in calls
        if call.layers
    ]
    parts = [_joined(difference.positions, calls, cover) for difference in differences(own, cover)]
    outside_us = looked_at.median_us - math.fsum(call.median_us for call in calls)
    looking_us = min(max(0.0, looked_at.median_us - run.median_us), max(0.0, outside_us))
    between_us = outside_us - looking_us
    spread_us = math.hypot(looked_at.iqr_us, *(call.iqr_us for call in calls))
    waits = list(_waits(calls, between_us)) if between_us > 0 else []
    parts += waits
    outside: tuple[tuple[InefficiencyKind, float, float], ...] = (
        ("timing each call", looking_us, math.hypot(run.iqr_us, looked_at.iqr_us)),
        ("between calls", between_us - math.fsum(wait.us for wait in waits), spread_us),
    )
    parts += [
        Inefficiency(kind, (), (), 0, us, 0.0, spread_us)
        for kind, us, spread_us in outside
        if us > 0
    ]
    parts += [
        Inefficiency(_of_no_layer(call), (), (number,), 0, call.median_us, 0.0, call.iqr_us)
        for number, call in enumerate(calls)
        if not call.layers and call.median_us
    ]
    return sorted(parts, key=lambda part: (-part.saved_us, part.positions, part.calls))


def _of_no_layer(call: FrameworkCall) -> InefficiencyKind:
    """What a call does that computes no layer. All that some start on a GPU are copies."""
    copies = bool(call.kernels) and all(kernel.name.startswith(COPY) for kernel in call.kernels)
    return "conversions and copies" if copies or call.op in CONVERSIONS else "unmatched"


def _waits(calls: Sequence[FrameworkCall], between_us: float) -> Iterator[Inefficiency]:
    """How much longer than usual nothing runs after each copy to the host, which waits for that
    before it starts more. Together they take no longer than all that passes between calls.
    """
    timed = [(number, call) for number, call in enumerate(calls) if call.median_us > 0]
    pauses_us = [
        max(0.0, after.start_us - before.start_us - before.median_us)
        for (_, before), (_, after) in itertools.pairwise(timed)
    ]
    usual_us = median(pauses_us) if pauses_us else 0.0
    long_pauses = [
        (number, call.iqr_us, pause_us - usual_us)
        for (number, call), pause_us in zip(timed, pauses_us, strict=False)
        if pause_us > usual_us and any(kernel.name.startswith(TO_HOST) for kernel in call.kernels)
    ]
    waited_us = math.fsum(us for *_, us in long_pauses)
    most = min(1.0, between_us / waited_us) if waited_us else 0.0
    for number, iqr_us, us in long_pauses:
        yield Inefficiency("synchronisation", (), (number,), 0, us * most, 0.0, iqr_us)


def _joined(
    positions: tuple[int, ...], calls: Sequence[FrameworkCall], cover: Sequence[Call]
) -> Inefficiency:
    of_part = frozenset(positions)
    numbers = tuple(
        number for number, call in enumerate(calls) if of_part.intersection(call.layers)
    )
    bound = [call for call in cover if of_part.intersection(call.positions)]
    us = math.fsum(calls[number].median_us for number in numbers)
    bound_us = math.fsum(call.us + call.conversion_us for call in bound)
    timed = sum(call.us > 0 for call in bound)
    if us <= bound_us:
        kind: InefficiencyKind = "not slower"
    elif not timed:
        kind = "no call needed"
    elif sum(calls[number].median_us > 0 for number in numbers) > timed:
        kind = "more calls"
    else:
        kind = "slower call"
    spread_us = math.hypot(
        *(calls[number].iqr_us for number in numbers), *(call.iqr_us for call in bound)
    )
    return Inefficiency(kind, positions, numbers, timed, us, bound_us, spread_us)
