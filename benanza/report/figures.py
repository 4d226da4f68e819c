"""The figures of a report, drawn by Plotly. Colours are readable on light and on dark pages."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import networkx
import plotly.graph_objects as go

from benanza.render.table import operators
from benanza.report.content import ReportedBound
from benanza.results.advise import ModelAdvice
from benanza_analyzer.answers.policies import LIBRARIES, LIBRARIES_UNFUSED, UNFUSED

INK = "#808890"
GRID = "rgba(128,136,144,0.25)"
BOUND, FRAMEWORK, LIMIT, SAVED, OTHER = "#2b8cbe", "#d95f02", "#7b6cb0", "#33a05c", "#999999"

LABEL = 36
"""So many characters of an operator's name are shown in a figure."""


def overview(bounds: Sequence[ReportedBound]) -> go.Figure:
    """The bounds of all models beside their speeds of light and the frameworks' runs."""
    names = [reported.title for reported in bounds]
    figure = go.Figure()
    runs = sorted({_run(run) for reported in bounds for run in reported.runs})
    for run in runs:
        times = [
            next((r.profile.us for r in reported.runs if _run(r) == run), None)
            for reported in bounds
        ]
        shade = 1 - 0.6 * runs.index(run) / max(1, len(runs))
        figure.add_bar(name=run, x=names, y=times, marker_color=FRAMEWORK, opacity=shade)
    for title, colour, field in (
        ("sequential bound", BOUND, "sequential_us"),
        ("parallel bound", OTHER, "parallel_us"),
        ("speed of light", LIMIT, "roofline_us"),
    ):
        times = [getattr(reported.bound, field) for reported in bounds]
        figure.add_bar(name=title, x=names, y=times, marker_color=colour)
    figure.update_yaxes(title="µs", type="log")
    return styled(figure)


def ladder(reported: ReportedBound) -> go.Figure:
    """From the framework's run, or where there is none from calls of libraries without fusion, by
    what each remedy saves to the bound, and the speed of light below it.
    """
    bound_us = reported.bound.sequential_us or 0.0
    steps = (
        _steps_of_run(reported.runs[0], bound_us)
        if reported.runs
        else _steps_of_policies(reported, bound_us)
    )
    steps = [*steps, ("bound", "absolute", bound_us)]
    if reported.bound.roofline_us is not None:
        steps += [
            ("better kernels and more fusion", "relative", reported.bound.roofline_us - bound_us)
        ]
        steps += [("speed of light", "absolute", reported.bound.roofline_us)]
    names, measures, values = zip(*steps, strict=True)
    figure = go.Figure(
        go.Waterfall(
            x=names,
            measure=measures,
            y=values,
            text=[f"{value:,.1f}" for value in values],
            textposition="outside",
            decreasing_marker_color=SAVED,
            increasing_marker_color=FRAMEWORK,
            totals_marker_color=BOUND,
            connector_line_color=GRID,
        )
    )
    figure.update_yaxes(title="µs", rangemode="tozero")
    return styled(figure)


def _steps_of_run(run: ModelAdvice, bound_us: float) -> list[tuple[str, str, float]]:
    """The run, and what the bound saves by kind. What is left over, as calls took another time
    while they were timed, or weren't, is a step of its own.
    """
    profile = run.profile
    us = profile.us or 0.0
    kinds: dict[str, float] = {}
    for part in profile.parts:
        if part.kind != "timing each call":
            kinds[part.kind] = kinds.get(part.kind, 0.0) + part.bound_us - part.us
    rest_us = bound_us - us - math.fsum(kinds.values())
    changes = [(kind, "relative", change) for kind, change in kinds.items()]
    return [(_run(run), "absolute", us), *changes, ("not looked into", "relative", rest_us)]


def _steps_of_policies(reported: ReportedBound, bound_us: float) -> list[tuple[str, str, float]]:
    """Bounds under other policies, from the slowest on."""
    ladder_of = [policy.name for policy in (LIBRARIES_UNFUSED, LIBRARIES, UNFUSED)]
    by_policy = {
        what_if.name: what_if.sequential_us
        for what_if in reported.what_ifs
        if what_if.ratio is not None
    }
    known = sorted(
        (by_policy[name], name) for name in ladder_of if by_policy.get(name, 0.0) > bound_us
    )[::-1]
    if not known:
        return []
    steps = [(known[0][1], "absolute", known[0][0])]
    below = [*(us for us, _ in known[1:]), bound_us]
    titles = [*(name for _, name in known[1:]), "fusion, any kernel"]
    before = known[0][0]
    for us, title in zip(below, titles, strict=True):
        steps.append((f"to: {title}", "relative", us - before))
        before = us
    return steps


def timeline(reported: ReportedBound) -> go.Figure:
    """The bound's calls one after the other, and those of the fastest framework's run: when they
    were timed in it, else one after the other as well.
    """
    took = [call.us + call.conversion_us for call in reported.calls]
    figure = go.Figure()
    figure.add_bar(
        name="bound",
        orientation="h",
        y=["bound"] * len(took),
        base=_starts(took),
        x=took,
        marker={
            "color": [BOUND if call.critical else OTHER for call in reported.calls],
            "line": {"width": 0.5, "color": "white"},
        },
        hovertext=[_shown(call.op, call.layers) for call in reported.calls],
    )
    for run in reported.runs[:1]:
        calls = run.profile.calls
        alone = _starts([call.us for call in calls])
        figure.add_bar(
            name=_run(run),
            orientation="h",
            y=[run.profile.framework] * len(calls),
            base=alone if run.profile.calls_of else [call.start_us for call in calls],
            x=[call.us for call in calls],
            marker={
                "color": [FRAMEWORK if call.positions else SAVED for call in calls],
                "line": {"width": 0.5, "color": "white"},
            },
            hovertext=[f"{call.op} {call.name}" for call in calls],
        )
    figure.update_xaxes(title="µs from the start")
    figure.update_layout(barmode="overlay", height=260, showlegend=False)
    return styled(figure)


def _starts(took: Sequence[float]) -> list[float]:
    """When each of these begins, if they run one after the other."""
    return [0.0, *itertools.accumulate(took)][: len(took)]


def roofline(reported: ReportedBound) -> go.Figure:
    """Each call's rate by its operations for each byte, below the system's ceilings."""
    timed = [call for call in reported.calls if call.us and call.flops and call.bytes]
    figure = go.Figure()
    figure.add_scatter(
        name="calls",
        mode="markers",
        x=[call.flops / call.bytes for call in timed],
        y=[call.flops / call.us * 1e6 for call in timed],
        marker={
            "color": [BOUND if call.limited_by == "compute" else FRAMEWORK for call in timed],
            "size": [6 + 40 * math.sqrt(call.share) for call in timed],
            "opacity": 0.65,
        },
        hovertext=[f"{_shown(c.op, c.layers)}: {c.us:,.1f} µs" for c in timed],
    )
    if timed and reported.ceilings is not None:
        bandwidth, flops = reported.ceilings.bandwidth, reported.ceilings.flops
        intensities = [call.flops / call.bytes for call in timed]
        ends = sorted({min(intensities) / 2, flops / bandwidth, max(intensities) * 2})
        figure.add_scatter(
            name="ceilings",
            mode="lines",
            x=ends,
            y=[min(flops, bandwidth * end) for end in ends],
            line_color=LIMIT,
        )
    figure.update_xaxes(title="operations for each byte", type="log")
    figure.update_yaxes(title="FLOP/s", type="log")
    return styled(figure)


def graph(reported: ReportedBound) -> go.Figure:
    """The calls of the bound with what each reads from others, along the critical path."""
    of_layer = {
        position: number
        for number, call in enumerate(reported.calls)
        for position in call.positions
    }
    calls = networkx.DiGraph()
    calls.add_nodes_from(range(len(reported.calls)))
    calls.add_edges_from(
        (of_layer[source], of_layer[target])
        for source, target in _without_views(reported, of_layer)
        if of_layer[source] != of_layer[target]
    )
    for depth, numbers in enumerate(networkx.topological_generations(calls)):
        for number in numbers:
            calls.nodes[number]["depth"] = depth
    places = networkx.multipartite_layout(calls, subset_key="depth") if reported.calls else {}
    figure = go.Figure()
    across: list[float | None] = []
    along: list[float | None] = []
    for source, target in calls.edges:
        across += [places[source][0], places[target][0], None]
        along += [places[source][1], places[target][1], None]
    figure.add_scatter(x=across, y=along, mode="lines", line_color=GRID, hoverinfo="skip")
    figure.add_scatter(
        mode="markers",
        x=[places[number][0] for number in calls],
        y=[places[number][1] for number in calls],
        marker={
            "color": [BOUND if call.critical else OTHER for call in reported.calls],
            "size": [6 + 30 * math.sqrt(call.share) for call in reported.calls],
        },
        hovertext=[f"{_shown(c.op, c.layers)}: {c.us:,.1f} µs" for c in reported.calls],
    )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    figure.update_layout(showlegend=False)
    return styled(figure)


def _without_views(reported: ReportedBound, of_layer: dict[int, int]) -> Sequence[tuple[int, int]]:
    """Edges between layers that are in calls. One that leads through layers in none is one edge."""
    layers = networkx.DiGraph(reported.edges)
    for position in [layer for layer in layers if layer not in of_layer]:
        before, after = list(layers.predecessors(position)), list(layers.successors(position))
        layers.remove_node(position)
        layers.add_edges_from((source, target) for source in before for target in after)
    return list(layers.edges)


def _run(run: ModelAdvice) -> str:
    profile = run.profile
    return f"{profile.framework} {profile.version}, {profile.configuration}"


def _shown(op: str, layers: Sequence[str]) -> str:
    return f"{operators(op)[:LABEL]} ({layers[0] if layers else ''})"


def styled(figure: go.Figure) -> go.Figure:
    """The figure as all of a report look."""
    style: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "family": "system-ui, sans-serif"},
        "margin": {"l": 60, "r": 10, "t": 20, "b": 60},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.0},
    }
    figure.update_layout(template="none", **style)
    figure.update_xaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True)
    figure.update_yaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True)
    return figure
