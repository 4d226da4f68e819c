"""A flame graph: what a model is made of, as wide as it takes time."""

from collections.abc import Mapping
from typing import NamedTuple

import plotly.graph_objects as go

from benanza.render.table import shortened
from benanza.report.blocks import paths
from benanza.report.content import ReportedBound
from benanza.report.figures.style import escaped, styled, telling_operator, took
from benanza.report.kinds import COLOURS, kind_of_call

MODEL, BLOCK = "#4d5561", "#69727e"
"""Of what holds calls."""


class FlameNode(NamedTuple):
    """A part of a flame graph in the one with the id `parent`. Only calls have a time and a number
    in the table, by which is known what is said of them; what holds them takes as long as they do.
    """

    id: str
    parent: str
    label: str
    colour: str
    hover: str = ""
    us: float = 0.0
    number: int | None = None


def flame(reported: ReportedBound) -> go.Figure:
    """The model, the blocks that it is made of, and their calls, as wide as they take time."""
    nodes = flame_nodes(reported)
    figure = go.Figure(
        go.Icicle(
            ids=[node.id for node in nodes],
            labels=[node.label for node in nodes],
            parents=[node.parent for node in nodes],
            values=[node.us for node in nodes],
            customdata=[node.number for node in nodes],
            hovertext=[node.hover for node in nodes],
            hoverinfo="text",
            textinfo="label",
            textposition="middle center",
            textfont={"color": "white"},
            sort=False,
            leaf={"opacity": 1},
            pathbar={"visible": False},
            tiling={"orientation": "v", "pad": 1},
            marker={"colors": [node.colour for node in nodes], "line": {"width": 0}},
        )
    )
    depth = max((node.id.count("/") for node in nodes if node.number is None), default=0)
    styled(figure)
    figure.update_layout(
        height=20 + 48 * (depth + 2),
        uniformtext={"minsize": 10, "mode": "hide"},
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
    )
    return figure


def flame_nodes(reported: ReportedBound) -> list[FlameNode]:
    """The parts of the flame graph, each after the one that holds it, in the order of the run."""
    calls = [(number, call) for number, call in enumerate(reported.calls) if took(call)]
    nested = paths(
        [call.layers[0] if call.layers else "" for _, call in calls],
        [call.fingerprint for _, call in calls],
    )
    times: dict[tuple[str, ...], float] = {}
    for (_, call), path in zip(calls, nested, strict=True):
        for depth in range(len(path) + 1):
            times[path[:depth]] = times.get(path[:depth], 0.0) + took(call)
    nodes: dict[str, FlameNode] = {}
    for (number, call), path in zip(calls, nested, strict=True):
        for depth in range(len(path) + 1):
            node = _holding(reported.bound.model, path[:depth], times)
            nodes.setdefault(node.id, node)
        nodes[f"call {number}"] = FlameNode(
            id=f"call {number}",
            parent="/".join(("model", *path)),
            label=telling_operator(call.op),
            colour=COLOURS[kind_of_call(call.op, call.rule)],
            us=took(call),
            number=number,
        )
    return list(nodes.values())


def _holding(
    model: str, path: tuple[str, ...], times: Mapping[tuple[str, ...], float]
) -> FlameNode:
    name = escaped("/".join(path) or model)
    return FlameNode(
        id="/".join(("model", *path)),
        parent="/".join(("model", *path[:-1])) if path else "",
        label=escaped(path[-1] if path else shortened(model)),
        hover=f"{name}: {times[path]:,.1f} µs, {times[path] / times[()]:.1%}",
        colour=BLOCK if path else MODEL,
    )
