"""Calls in time: those of a bound, and those of a framework's run below them."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from benanza.report.answer import framework
from benanza.report.content import ReportedBound
from benanza.report.figures.style import escaped, styled, telling_operator, took
from benanza.report.kinds import COLOURS, kind_of_call
from benanza.results.advise import ModelAdvice

CONVERTS = "computes no layer"
"""Of what a framework runs besides, such as conversions."""

OF_KINDS: dict[str, str] = {**dict(COLOURS.items()), CONVERTS: "#3d3d45"}


class Slice(NamedTuple):
    """A call on a track: when it begins and how long it takes, in microseconds; and its number
    among the page's calls, by which is known what is said of it, or, without one, what is said.
    """

    start_us: float
    us: float
    label: str
    number: int | None = None
    hover: str = ""


def timeline(reported: ReportedBound) -> go.Figure:
    """The bound's calls one after the other, and those of a framework's run: when they were timed
    in it, or one after the other where that was another run.
    """
    tracks = {"bound": of_bound(reported)}
    run = reported.looked_into
    if run is not None and run.profile.calls:
        tracks[escaped(framework(run.profile.framework))] = _of_run(run)
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


def of_bound(reported: ReportedBound, first: int = 0) -> dict[str, list[Slice]]:
    """The calls of a bound by kind, one after the other, numbered from `first` on."""
    times = list(map(took, reported.calls))
    kinds: dict[str, list[Slice]] = {}
    for number, (call, start_us) in enumerate(zip(reported.calls, _starts(times), strict=True)):
        if times[number]:
            slices = kinds.setdefault(kind_of_call(call.op, call.rule), [])
            label = telling_operator(call.op)
            slices.append(Slice(start_us, times[number], label, first + number))
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
        kernels = "".join(f"<br>{escaped(kernel.name[:80])}" for kernel in call.kernels[:3])
        said = f"{escaped(call.op)} {escaped(call.name[:60])}<br>{call.us:,.2f} µs{kernels}"
        kinds.setdefault(kind, []).append(
            Slice(start_us, call.us, telling_operator(call.op), hover=said)
        )
    return _in_order(kinds)


def _in_order(kinds: dict[str, list[Slice]]) -> dict[str, list[Slice]]:
    order = list(OF_KINDS)
    return {kind: kinds[kind] for kind in sorted(kinds, key=order.index)}


def _starts(times: Sequence[float]) -> list[float]:
    """When each of these begins, if they run one after the other."""
    return [0.0, *itertools.accumulate(times)][: len(times)]
