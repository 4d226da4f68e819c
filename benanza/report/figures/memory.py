"""What a model holds in memory while the calls of its bound run."""

import itertools
from typing import NamedTuple

import plotly.graph_objects as go

from benanza.render.units import amount
from benanza.report.content import ReportedBound
from benanza.report.figures.style import BOUND, FRAMEWORK, hover, styled, took
from benanza.report.graph import CallGraph


class Held(NamedTuple):
    """Bytes in memory at the precision of a bound. `weights` are of each call, and there all the
    time. `values` are what calls gave and others are still to read, while each call runs: its own
    results are among them.
    """

    weights: tuple[int, ...]
    values: tuple[int, ...]

    @property
    def peak(self) -> int:
        """The call with the most values, by its number."""
        return max(range(len(self.values)), key=self.values.__getitem__)


def held(reported: ReportedBound, calls: CallGraph) -> Held | None:
    """What is held call by call, in the order of the bound; None where what any of its calls reads
    and gives isn't known.

    A value lives from the call that gives it to the last one that reads it, and one that none
    reads, as a result of the model, to the end. Nothing is overwritten in place, and views take
    nothing. The model's own inputs, and what it keeps between steps, aren't counted; a weight that
    several calls read counts for each.
    """
    if not reported.has_forms:
        return None
    known = [reported.forms[call.fingerprint] for call in reported.calls]
    precision = reported.bound.precision
    last_read = dict(enumerate([len(known) - 1] * len(known)))
    readers: dict[int, list[int]] = {}
    for source, target in (*calls.arrows, *calls.skips):
        readers.setdefault(source, []).append(target)
    last_read |= {source: max(targets) for source, targets in readers.items()}
    changes = [0] * (len(known) + 1)
    for number, form in enumerate(known):
        size = sum(tensor.bytes(precision) for tensor in form.gives)
        changes[number] += size
        changes[max(number, last_read[number]) + 1] -= size
    return Held(
        weights=tuple(sum(of.bytes(precision) for of in form.constants) for form in known),
        values=tuple(itertools.accumulate(changes[:-1])),
    )


def memory(reported: ReportedBound, of: Held) -> go.Figure:
    """The values over time, and the weights that each call reads."""
    ends = list(itertools.accumulate(map(took, reported.calls), initial=0.0))
    figure = go.Figure()
    for name, held_bytes, colour in (
        (f"values: {amount(of.values[of.peak], 'B')} at most", of.values, BOUND),
        (f"weights of each call: {amount(sum(of.weights), 'B')} together", of.weights, FRAMEWORK),
    ):
        figure.add_scatter(
            name=name,
            x=ends,
            y=[size / 1e6 for size in (*held_bytes, held_bytes[-1])],
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": colour},
            fill="tozeroy",
            customdata=list(range(len(reported.calls))),
            hovertext=[
                f"{hover(call)}<br>{amount(size, 'B')} of {name.split()[0].rstrip(':')}"
                for call, size in zip(reported.calls, held_bytes, strict=True)
            ],
            hoverinfo="text",
        )
    figure.update_xaxes(title="µs from the start", rangemode="tozero", tickformat=",")
    figure.update_yaxes(rangemode="tozero", tickformat=",", ticksuffix=" MB", fixedrange=True)
    figure.update_layout(height=300, dragmode="zoom")
    return styled(figure)
