"""What a report says to do: advice about a framework's run, and what choices are worth."""

from collections.abc import Iterator
from typing import NamedTuple

from benanza.render.answers.advise import operators_of
from benanza.report.answer import run_title
from benanza.report.content import ReportedBound
from benanza.report.layouts import LEAST_SHARE, layout_choice
from benanza.results.advise import ModelAdvice
from benanza.results.what_if import WhatIf
from benanza_analyzer.answers.policies import (
    HEURISTIC,
    LIBRARIES,
    STATES_COPIED,
    UNFUSED,
)

MOST_ADVICE = 8

CHOICES = {
    UNFUSED.name: "join operators: use what fuses, such as a compiler or an inference engine",
    HEURISTIC.name: "have libraries search for the fastest algorithm; don't trust their heuristics",
    LIBRARIES.name: "take generated kernels where they are faster than calls of libraries",
    STATES_COPIED.name: "keep states in place; don't copy them",
}
"""What to do by the name of the policy without it."""

LAYOUTS = {
    "channels last": "keep feature maps in channels last",
    "channels first": "keep feature maps in channels first",
    "the layout for each layer": "choose the layout of feature maps for each layer",
}
"""What to do by the name of the choice."""


class ToDo(NamedTuple):
    """What to do against lost time, in the words of a report. `saves_us` are microseconds of a
    run of the whole batch, `share` is their part of the run or, for a choice, of what it takes
    without it.
    """

    saves_us: float
    share: float
    where: str
    do: str
    seen_us: float | None = None


def of_run(run: ModelAdvice) -> list[ToDo]:
    """The advice about a run that saves most."""
    batch = run.profile.batch
    return [
        ToDo(
            batch * advice.saved_us,
            advice.share,
            ": ".join(filter(None, (advice.what, operators_of(advice)))),
            advice.do or "nothing that is known here helps",
            None if advice.seen_us is None else batch * advice.seen_us,
        )
        for advice in run.advice[:MOST_ADVICE]
    ]


def of_choices(reported: ReportedBound) -> list[ToDo]:
    """What each choice is worth in the bound, most first."""
    found = [*_of_policies(reported), *_of_precisions(reported)]
    matter = (todo for todo in found if todo.share >= LEAST_SHARE)
    return sorted(matter, key=lambda todo: -todo.saves_us)


def _of_policies(reported: ReportedBound) -> Iterator[ToDo]:
    for what_if in reported.what_ifs:
        if what_if.name in CHOICES and what_if.more_us is not None:
            saves_us = what_if.more_us - _fusion_us(reported, what_if)
            do = CHOICES[what_if.name]
            yield _worth(saves_us, what_if.sequential_us, what_if.name, do)
    if layout := layout_choice(reported.what_ifs):
        without = layout.without
        yield _worth(
            without.more_us or 0.0, without.sequential_us, without.name, LAYOUTS[layout.name]
        )


def _of_precisions(reported: ReportedBound) -> Iterator[ToDo]:
    us = reported.bound.sequential_us
    if us is None or reported.bound.partial:
        return
    for precision, other_us in reported.at_precisions.items():
        do = f"convert the model, or what it is run in, to {precision}"
        yield _worth(us - other_us, us, f"in {reported.bound.precision}", do)


def _worth(saves_us: float, without_us: float, where: str, do: str) -> ToDo:
    share = saves_us / without_us if without_us else 0.0
    return ToDo(saves_us, share, where, do)


def _fusion_us(reported: ReportedBound, what_if: WhatIf) -> float:
    """What fusion is worth, of the policy that asks heuristics as well: the rest is what they are
    worth.
    """
    if what_if.name != HEURISTIC.name:
        return 0.0
    unfused = (each.more_us for each in reported.what_ifs if each.name == UNFUSED.name)
    return next(unfused, None) or 0.0


def about(reported: ReportedBound) -> str:
    """Which run the advice is about, or why there is none."""
    run = reported.looked_into
    if run is None:
        return (
            "No framework's run of it is known on this device, so only choices are listed; "
            "benanza profile runs it in a framework, and says more."
        )
    if not run.advice:
        return (
            f"{run_title(run)}: nothing is known of its calls, so choices are listed; "
            "benanza profile times its calls in configurations that allow it."
        )
    if run is not reported.runs[0]:
        return f"Of the fastest run whose calls are known, by {run_title(run)}."
    return f"Of the run by {run_title(run)}."
