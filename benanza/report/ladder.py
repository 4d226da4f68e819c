"""The way from what was measured to the bound and the speed of light, step by step."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from benanza.report.answer import run_title
from benanza.report.content import ReportedBound
from benanza.results.advise import ModelAdvice
from benanza_analyzer.answers.policies import LIBRARIES, LIBRARIES_UNFUSED, UNFUSED

LEAST_US = 0.05
"""Less than this is shown as nothing."""

WORDS = {
    "between calls": "nothing runs between calls",
    "synchronisation": "no wait for the host after copies",
    "conversions and copies": "no conversions and copies",
    "unmatched": "no calls that compute no layer",
    "no call needed": "no calls where none is needed",
    "more calls": "fewer calls: fusion",
    "slower call": "faster calls",
    "not slower": "calls that the bound has slower",
}
"""What changes on the way to the bound, by the kind of a run's part."""


class LadderStep(NamedTuple):
    """A time that was found (`run`, `bound`, `light`), or a `change` on the way to the next one, in
    microseconds; a change that is negative saves time. `before_us` is what a change starts from.
    """

    what: str
    kind: Literal["run", "change", "bound", "light"]
    us: float
    before_us: float = 0.0


def ladder(reported: ReportedBound) -> list[LadderStep]:
    """From a framework's run, or where there is none from calls of libraries without fusion, by
    what each remedy saves to the bound, and the speed of light below it. Empty where no bound is
    known.
    """
    bound_us, light_us = reported.bound.sequential_us, reported.bound.roofline_us
    if bound_us is None:
        return []
    run = reported.looked_into
    partial = reported.bound.partial
    steps = _of_run(run, bound_us, partial=partial) if run else _of_policies(reported, bound_us)
    steps.append(LadderStep("the bound (partial)" if partial else "the bound", "bound", bound_us))
    if light_us is not None:
        words = "better kernels and more fusion"
        if partial:
            words = f"layers that the bound lacks, {words}"
        steps.append(LadderStep(words, "change", light_us - bound_us, bound_us))
        steps.append(LadderStep("the speed of light", "light", light_us))
    return steps


def _of_run(run: ModelAdvice, bound_us: float, *, partial: bool) -> list[LadderStep]:
    """The run, and what the bound saves by kind. What is left over, as calls took another time
    while they were timed, or weren't, or as the bound lacks layers, is a step of its own.
    """
    us = run.profile.us or 0.0
    kinds: dict[str, float] = {}
    for part in run.profile.parts:
        if part.kind != "timing each call":
            words = WORDS[part.kind]
            kinds[words] = kinds.get(words, 0.0) + part.bound_us - part.us
    changes = sorted(kinds.items(), key=lambda kind: kind[1])
    rest_us = bound_us - us - math.fsum(kinds.values())
    rest = "timed otherwise in the run of which calls are known" if kinds else "calls not timed"
    if partial:
        rest = f"{rest}, and layers that the bound lacks"
    return [LadderStep(run_title(run), "run", us), *_changes([*changes, (rest, rest_us)], us)]


def _of_policies(reported: ReportedBound, bound_us: float) -> list[LadderStep]:
    """Bounds under other policies, from the slowest on."""
    by_policy = {
        what_if.name: what_if.sequential_us
        for what_if in reported.what_ifs
        if what_if.ratio is not None and what_if.sequential_us > bound_us
    }
    names = (LIBRARIES_UNFUSED.name, LIBRARIES.name, UNFUSED.name)
    known = sorted(((by_policy[name], name) for name in names if name in by_policy), reverse=True)
    if not known:
        return []
    changes = [
        (f"to: {below}", below_us - us)
        for (us, _), (below_us, below) in pairwise(
            [*known, (bound_us, "fusion, the fastest kernels")]
        )
    ]
    us, name = known[0]
    return [LadderStep(name, "run", us), *_changes(changes, us)]


def _changes(changes: Sequence[tuple[str, float]], us: float) -> list[LadderStep]:
    steps = []
    for what, change_us in changes:
        if abs(change_us) >= LEAST_US:
            steps.append(LadderStep(what, "change", change_us, us))
        us += change_us
    return steps
