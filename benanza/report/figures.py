"""The figures of a bound that Plotly draws. What is text on the page takes the page's colours."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from benanza.render.table import operators, shortened
from benanza.render.units import amount
from benanza.report.answer import framework
from benanza.report.blocks import paths
from benanza.report.content import ReportedBound
from benanza.report.kinds import COLOURS, CallKind, kind_of_call
from benanza.results.advise import ModelAdvice
from benanza.results.explain import ExplainedCall

GRID = "rgba(128,136,144,0.3)"
BOUND, FRAMEWORK, LIMIT, SAVED, OTHER = "#2f6fb7", "#c4531d", "#6a5fb0", "#188561", "#77777f"

LABEL = 36
"""So many characters of an operator's name are shown in a figure."""

MODEL, BLOCK = "#4d5561", "#69727e"
"""Of what holds calls in a flame graph."""

CONVERTS = "computes no layer"
"""Of what a framework runs besides, such as conversions."""

OF_KINDS: dict[str, str] = {**COLOURS, CONVERTS: "#3d3d45"}


class Slice(NamedTuple):
    """A call on a track: when it begins and how long it takes, in microseconds; what is said of it,
    and its number in the table, none if it isn't there.
    """

    start_us: float
    us: float
    label: str
    hover: str
    number: int | None = None


def timeline(reported: ReportedBound) -> go.Figure:
    """The bound's calls one after the other, and those of a framework's run: when they were timed
    in it, or one after the other where that was another run.
    """
    tracks = {"bound": of_bound(reported)}
    run = reported.looked_into
    if run is not None and run.profile.calls:
        tracks[framework(run.profile.framework)] = _of_run(run)
    return tracked(tracks)


def tracked(tracks: Mapping[str, Mapping[str, Sequence[Slice]]]) -> go.Figure:
    """Tracks one below the other, each with its calls by kind."""
    figure = go.Figure()
    shown: set[str] = set()
    for track, kinds in tracks.items():
        for kind, slices in kinds.items():
            figure.add_bar(
                name=kind,
                legendgroup=kind,
                showlegend=kind not in shown,
                orientation="h",
                y=[track] * len(slices),
                base=[each.start_us for each in slices],
                x=[each.us for each in slices],
                text=[each.label for each in slices],
                customdata=[each.number for each in slices],
                hovertext=[each.hover for each in slices],
                hoverinfo="text",
                textposition="inside",
                insidetextanchor="middle",
                insidetextfont={"color": "white"},
                textangle=0,
                marker={"color": OF_KINDS[kind], "line": {"width": 0.5, "color": "white"}},
            )
            shown.add(kind)
    figure.update_xaxes(title="µs from the start", rangemode="tozero", tickformat=",")
    figure.update_yaxes(autorange="reversed", fixedrange=True, ticksuffix=" ")
    figure.update_layout(
        barmode="overlay",
        bargap=0.15,
        height=150 + 90 * len(tracks),
        uniformtext={"minsize": 10, "mode": "hide"},
        legend={"traceorder": "normal"},
        dragmode="zoom",
    )
    return styled(figure)


def of_bound(reported: ReportedBound) -> dict[str, list[Slice]]:
    """The calls of a bound by kind, one after the other."""
    took = [call.us + call.conversion_us for call in reported.calls]
    kinds: dict[str, list[Slice]] = {}
    for number, (call, start_us) in enumerate(zip(reported.calls, _starts(took), strict=True)):
        if took[number]:
            slices = kinds.setdefault(kind_of_call(call.op, call.rule), [])
            label = _operator(call.op)
            slices.append(Slice(start_us, took[number], label, hover(call), number))
    return _in_order(kinds)


def _of_run(run: ModelAdvice) -> dict[str, list[Slice]]:
    calls = run.profile.calls
    alone = _starts([call.us for call in calls])
    kinds: dict[str, list[Slice]] = {}
    for call, then_us in zip(calls, alone, strict=True):
        if not call.us:
            continue
        start_us = then_us if run.profile.calls_of else call.start_us
        kind = kind_of_call(call.op) if call.positions else CONVERTS
        kernels = "".join(f"<br>{_escaped(kernel.name)[:80]}" for kernel in call.kernels[:3])
        said = f"{_escaped(call.op)} {_escaped(call.name)[:60]}<br>{call.us:,.2f} µs{kernels}"
        kinds.setdefault(kind, []).append(Slice(start_us, call.us, _operator(call.op), said))
    return _in_order(kinds)


def _in_order(kinds: dict[str, list[Slice]]) -> dict[str, list[Slice]]:
    order = list(OF_KINDS)
    return {kind: kinds[kind] for kind in sorted(kinds, key=order.index)}


def _starts(took: Sequence[float]) -> list[float]:
    """When each of these begins, if they run one after the other."""
    return [0.0, *itertools.accumulate(took)][: len(took)]


def flame(reported: ReportedBound) -> go.Figure:
    """The model, the blocks that it is made of, and their calls, as wide as they take time."""
    calls = [(number, call) for number, call in enumerate(reported.calls) if _took(call)]
    nested = paths(
        [call.layers[0] if call.layers else "" for _, call in calls],
        [call.fingerprint for _, call in calls],
    )
    model = reported.bound.model
    total_us = math.fsum(_took(call) for _, call in calls)
    ids, labels, parents, values = ["model"], [_escaped(shortened(model))], [""], [total_us]
    colours, numbers = [MODEL], [None]
    hovers = [f"{_escaped(model)}: {total_us:,.1f} µs"]
    sums: dict[tuple[str, ...], float] = {}
    for (_, call), path in zip(calls, nested, strict=True):
        for depth in range(1, len(path) + 1):
            sums[path[:depth]] = sums.get(path[:depth], 0.0) + _took(call)
    for path, us in sums.items():
        ids.append("/".join(("model", *path)))
        labels.append(_escaped(path[-1]))
        parents.append("/".join(("model", *path[:-1])))
        values.append(us)
        colours.append(BLOCK)
        numbers.append(None)
        hovers.append(f"{_escaped('/'.join(path))}: {us:,.1f} µs, {us / total_us:.1%}")
    for (number, call), path in zip(calls, nested, strict=True):
        ids.append(f"call {number}")
        labels.append(_operator(call.op))
        parents.append("/".join(("model", *path)))
        values.append(_took(call))
        colours.append(COLOURS[kind_of_call(call.op, call.rule)])
        numbers.append(number)
        hovers.append(hover(call))
    figure = go.Figure(
        go.Icicle(
            ids=ids,
            labels=labels,
            parents=parents,
            values=values,
            customdata=numbers,
            branchvalues="total",
            sort=False,
            pathbar={"visible": False},
            tiling={"orientation": "v", "pad": 1},
            marker={"colors": colours, "line": {"width": 0}},
            hovertext=hovers,
            hoverinfo="text",
            textinfo="label",
            textposition="middle center",
            textfont={"color": "white"},
            leaf={"opacity": 1},
        )
    )
    depth = max(map(len, nested), default=0)
    figure.update_layout(height=20 + 48 * (depth + 2), uniformtext={"minsize": 10, "mode": "hide"})
    styled(figure)
    figure.update_layout(margin={"l": 4, "r": 4, "t": 4, "b": 4})
    return figure


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
                hovertext=[
                    f"{hover(call)}<br>{amount(call.flops / call.us * 1e6, 'FLOP/s')}"
                    for _, call in of
                ],
                hoverinfo="text",
            )
    figure.update_xaxes(title="operations a byte (FLOP/B)", type="log", tickformat="~g", dtick=1)
    figure.update_yaxes(type="log", tickformat="~s", ticksuffix="FLOP/s", dtick=1)
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


def hover(call: ExplainedCall) -> str:
    """What is said of a call where the mouse is over it."""
    layer = _escaped(call.layers[0])[:60] if call.layers else ""
    lines = [
        f"<b>{_escaped(operators(call.op))[:LABEL]}</b>",
        layer + (f" and {len(call.layers) - 1} more" if len(call.layers) > 1 else ""),
        f"{_took(call):,.2f} µs, {call.share:.1%} of the bound",
        ": ".join(filter(None, (call.library, _escaped(call.algorithm)[:70]))),
    ]
    return "<br>".join(filter(None, lines))


def _took(call: ExplainedCall) -> float:
    return call.us + call.conversion_us


def _operator(op: str) -> str:
    """The first operator of a call that says what it is."""
    names = op.split("+")
    kinds = [kind_of_call(name) for name in names]
    order = list(COLOURS)
    telling = min(range(len(names)), key=lambda place: (order.index(kinds[place]), place))
    return _escaped(names[telling])[:LABEL]


def _escaped(text: str) -> str:
    """Plotly takes some tags of HTML for markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def styled(figure: go.Figure) -> go.Figure:
    """The figure as all of a report look."""
    style: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "margin": {"l": 60, "r": 10, "t": 20, "b": 50},
        "hoverlabel": {"align": "left"},
    }
    figure.update_layout(template="none", **style)
    figure.update_layout(legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0})
    figure.update_xaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True, title_font_size=13)
    figure.update_yaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True, title_font_size=13)
    return figure
