"""What a model holds in memory while the calls of its bound run."""

import itertools
from collections.abc import Sequence

import plotly.graph_objects as go

from benanza.render.units import amount
from benanza.report.figures.style import BOUND, FRAMEWORK, styled, took
from benanza.results.explain import ExplainedCall


def memory(calls: Sequence[ExplainedCall]) -> go.Figure:
    """The values that are alive over time, and the weights that each call reads, of calls of which
    both are known.
    """
    values = [call.alive_bytes or 0 for call in calls]
    weights = [call.constant_bytes or 0 for call in calls]
    ends = list(itertools.accumulate(map(took, calls), initial=0.0))
    figure = go.Figure()
    for name, held_bytes, colour in (
        (f"values: {amount(max(values), 'B')} at most", values, BOUND),
        (f"weights of each call: {amount(sum(weights), 'B')} together", weights, FRAMEWORK),
    ):
        figure.add_scatter(
            name=name,
            x=ends,
            y=[size / 1e6 for size in (*held_bytes, held_bytes[-1])],
            mode="lines",
            line={"shape": "hv", "width": 1.5, "color": colour},
            fill="tozeroy",
            customdata=list(range(len(calls))),
            hovertext=[
                f"{amount(size, 'B')} of {name.split()[0].rstrip(':')}" for size in held_bytes
            ],
            hoverinfo="text",
        )
    figure.update_xaxes(title="µs from the start", rangemode="tozero", tickformat=",")
    figure.update_yaxes(rangemode="tozero", tickformat=",", ticksuffix=" MB", fixedrange=True)
    figure.update_layout(height=300, dragmode="zoom")
    return styled(figure)
