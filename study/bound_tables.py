"""The bounds of the zoo on a device, and what each remedy is worth, as tables in Markdown.

The remedies are those of Benanza's paper (Li et al., IPDPS 2020), as speed-ups: how many times as
long the model takes without the remedy.
"""

from collections.abc import Iterable, Sequence
from statistics import geometric_mean, quantiles
from typing import NamedTuple

from benanza.results.questions import ModelAnswers
from benchmarks.pytorch.cells import line, us


class SpeedUps(NamedTuple):
    """A model's speed-ups; `None` where a part of it isn't known.

    `algorithms` is that of the fastest algorithms over those that heuristics choose, both without
    fusion; `fusion` that of the bound over the sum of its layers; `parallel` that of the longest
    path over the bound; `joint` that of all three. `pytorch` is how many times as long as the bound
    PyTorch's fastest run takes, `light` how many times as long as its speed of light it is itself.
    """

    algorithms: float | None
    fusion: float | None
    parallel: float | None
    joint: float | None
    pytorch: float | None
    light: float | None


TITLES = "algorithms", "fusion", "parallel", "joint", "PyTorch / bound", "bound / light"
"""What each field of `SpeedUps` is called."""


def speed_ups(answers: ModelAnswers) -> SpeedUps:
    """What each remedy is worth in the bound of a model."""
    bound = answers.bound
    best_us = None if bound.partial else bound.sequential_us
    unfused_us = _sum(best_us, answers.fusion_us)
    chosen_us = _sum(unfused_us, answers.algorithms_us)
    return SpeedUps(
        algorithms=_ratio(chosen_us, unfused_us),
        fusion=_ratio(unfused_us, best_us),
        parallel=_ratio(best_us, bound.parallel_us),
        joint=_ratio(chosen_us, bound.parallel_us),
        pytorch=_ratio(answers.framework_us, best_us),
        light=_ratio(best_us, bound.roofline_us),
    )


def bound_tables(answers: Sequence[ModelAnswers]) -> list[str]:
    """The lines of the section."""
    whole = sum(not answer.bound.partial for answer in answers)
    return [
        f"Bounds with full coverage: {whole} of {len(answers)}. *Least* to *most* are over the",
        "models for which all that is needed was measured.",
        "",
        *_summary(answers),
        "",
        *_each_model(answers),
    ]


def known_speed_ups(answers: Iterable[ModelAnswers]) -> dict[str, list[float]]:
    """Of each of `TITLES`, the values of the models where it is known, ascending."""
    columns = zip(*map(speed_ups, answers), strict=True)
    return {
        title: sorted(value for value in values if value is not None)
        for title, values in zip(TITLES, columns, strict=True)
    }


def _summary(answers: Iterable[ModelAnswers]) -> list[str]:
    lines = [
        "| speed-up | models | least | quartile | median | quartile | most | geometric mean |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for title, known in known_speed_ups(answers).items():
        if len(known) < 2:
            continue
        middle = quantiles(known, n=4, method="inclusive")
        cells = [known[0], *middle, known[-1], geometric_mean(known)]
        lines.append(line([title, str(len(known)), *map(_times, cells)]))
    return lines


def _each_model(models: Iterable[ModelAnswers]) -> list[str]:
    titles = "model", "layers", "bound, µs", "±", "parallel", "speed of light", *TITLES
    lines = [line(titles), line("---" for _ in titles)]
    for answers in models:
        bound = answers.bound
        times = [
            bound.sequential_us,
            bound.sequential_spread_us,
            bound.parallel_us,
            bound.roofline_us,
        ]
        # A partial bound counts only what was measured, so it is no time of the model.
        shown = ["partial", "", "", ""] if bound.partial else map(us, times)
        lines.append(
            line([bound.model, str(bound.layers), *shown, *map(_times, speed_ups(answers))])
        )
    return lines


def precision_table(answers: Iterable[ModelAnswers]) -> list[str]:
    """What TF32 and fp16 are worth in the bounds of float32 that are known at all three."""
    lines = ["| model | batch | fp32, µs | TF32 | fp16 |", "|---|---|---|---|---|"]
    for answer in answers:
        known_us = answer.bound.sequential_us
        if known_us is None or answer.tf32_us is None or answer.fp16_us is None:
            continue
        gains = [
            _times(known_us / (known_us - saved)) for saved in (answer.tf32_us, answer.fp16_us)
        ]
        lines.append(line([answer.bound.model, str(answer.bound.batch), us(known_us), *gains]))
    return lines


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _sum(us: float | None, more_us: float | None) -> float | None:
    return None if us is None or more_us is None else us + more_us


def _ratio(us: float | None, of_us: float | None) -> float | None:
    return us / of_us if us and of_us else None
