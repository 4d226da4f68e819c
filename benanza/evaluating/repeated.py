"""An evaluation that is repeated, and how far its runs are apart."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import ClassVar, Literal

from benanza.evaluating.results import EvaluatedModel
from benanza.results.result import Result
from benanza_backbone.document import Document

RepeatedName = Literal["per_s", "p50_us", "p99_us"]
"""Samples a second, and LoadGen's latencies; of the offline scenario there are none."""


class RepeatedFigure(Document, frozen=True, kw_only=True):
    """A figure of all runs in which something was measured. `spread` is how much greater its
    greatest value is than its least, as a share: 0.03 is 3 %.
    """

    name: RepeatedName
    median: float
    least: float
    greatest: float
    spread: float


class RepeatedEvaluation(Result, frozen=True, kw_only=True):
    """Runs of one request in their order, each loaded anew, and how far they are apart."""

    _rows: ClassVar[str] = "figures"

    runs: tuple[EvaluatedModel, ...]
    figures: tuple[RepeatedFigure, ...]

    @property
    def middle(self) -> EvaluatedModel:
        """The run with the median throughput, of an even number the lower one of the two in the
        middle; the first run where none was measured.
        """
        ordered = sorted(
            (run.evaluation.measured.per_s, number)
            for number, run in enumerate(self.runs)
            if run.evaluation.measured is not None
        )
        return self.runs[ordered[(len(ordered) - 1) // 2][1] if ordered else 0]


def repeated(runs: Sequence[EvaluatedModel]) -> RepeatedEvaluation:
    """At least one run, with what they say together."""
    return RepeatedEvaluation(runs=tuple(runs), figures=tuple(_figures(runs)))


def _figures(runs: Sequence[EvaluatedModel]) -> Iterator[RepeatedFigure]:
    measured = [run.evaluation.measured for run in runs if run.evaluation.measured is not None]
    latencies = [each.latency for each in measured if each.latency is not None]
    values: dict[RepeatedName, list[float]] = {
        "per_s": [each.per_s for each in measured],
        "p50_us": [each.p50_us for each in latencies],
        "p99_us": [each.p99_us for each in latencies],
    }
    for name, found in values.items():
        if found:
            yield RepeatedFigure(
                name=name,
                median=median(found),
                least=min(found),
                greatest=max(found),
                spread=max(found) / min(found) - 1,
            )
