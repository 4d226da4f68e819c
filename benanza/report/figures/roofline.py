"""Rates of calls below the ceilings of a system."""

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from benanza.render.units import amount
from benanza.report.content import ReportedBound
from benanza.report.figures.style import FRAMEWORK, LIMIT, styled
from benanza.report.kinds import COLOURS, CallKind, kind_of_call
from benanza.results.explain import ExplainedCall


def roofline(reported: ReportedBound) -> go.Figure:
    """Each call's rate by its operations for each byte, below the system's ceilings."""
    timed = [
        (number, call)
        for number, call in enumerate(reported.calls)
        if call.us and call.flops and call.bytes
    ]
    figure = go.Figure()
    _add_ceilings(figure, reported, [call.flops / call.bytes for _, call in timed])
    kinds: dict[CallKind, list[tuple[int, ExplainedCall]]] = {}
    for number, call in timed:
        kinds.setdefault(kind_of_call(call.op, call.rule), []).append((number, call))
    for kind, colour in COLOURS.items():
        if of := kinds.get(kind):
            figure.add_scatter(
                name=kind,
                mode="markers",
                x=[call.flops / call.bytes for _, call in of],
                y=[call.flops / call.us * 1e6 for _, call in of],
                marker={
                    "color": colour,
                    "size": [7 + 40 * math.sqrt(call.share) for _, call in of],
                    "opacity": 0.7,
                    "line": {"width": 1, "color": "white"},
                },
                customdata=[number for number, _ in of],
                hovertext=[amount(call.flops / call.us * 1e6, "FLOP/s") for _, call in of],
                hoverinfo="text",
            )
    figure.update_xaxes(title="operations a byte (FLOP/B)", type="log", tickformat="~g", dtick=1)
    powers = [10.0**power for power in range(21)]
    said = [amount(power, "FLOP/s") for power in powers]
    figure.update_yaxes(type="log", tickvals=powers, ticktext=said)
    figure.update_layout(height=440)
    return styled(figure)


def _add_ceilings(figure: go.Figure, reported: ReportedBound, intensities: Sequence[float]) -> None:
    ceilings = reported.ceilings
    if ceilings is None or not intensities:
        return
    corner = ceilings.flops / ceilings.bandwidth
    low, high = min(*intensities, corner) / 2, max(*intensities, 2 * corner) * 2
    slopes = [("last cache", ceilings.bandwidth, "solid"), ("memory", ceilings.memory, "dash")]
    for name, bandwidth, dash in slopes:
        if bandwidth:
            ends = [low, ceilings.flops / bandwidth]
            figure.add_scatter(
                name=f"{name}: {amount(bandwidth, 'B/s')}",
                mode="lines",
                x=ends,
                y=[bandwidth * end for end in ends],
                line={"color": LIMIT, "dash": dash, "width": 2},
                hoverinfo="name",
            )
    figure.add_scatter(
        name=f"{reported.bound.precision}: {amount(ceilings.flops, 'FLOP/s')}",
        mode="lines",
        x=[corner, high],
        y=[ceilings.flops, ceilings.flops],
        line={"color": FRAMEWORK, "width": 2},
        hoverinfo="name",
    )
