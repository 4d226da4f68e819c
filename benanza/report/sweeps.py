"""The figures of a decoder that has bounds at several sizes: what its tokens take, or its runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import plotly.graph_objects as go

from benanza.render.units import named_sizes, plural
from benanza.report.content import ReportedBound
from benanza.report.figures.style import BOUND, FRAMEWORK, LIMIT, OTHER, SAVED, escaped, styled
from benanza_backbone.clickhouse.bounds import ModelBound

MILLION = 1e6

COLOURS = (BOUND, FRAMEWORK, SAVED, LIMIT, "#c9488a", "#a98a12", OTHER)
"""Of lines, in turn."""


class Point(NamedTuple):
    """Times of a run in microseconds, `None` where they aren't known, of so many sequences
    behind a past of this length. `others` are sizes in which points of one length differ besides,
    escaped.
    """

    sequences: int
    length: int
    others: str
    bound_us: float
    attainable_us: float | None
    measured_us: float | None


class Sweep(NamedTuple):
    """The whole bounds of a file at several sizes, on one system at one precision. `dimension` is
    the name of the past's length, or of another if there is none, empty if all points have the
    same. One with a past gives each sequence a token in a run; others may read whole prompts.
    """

    title: str
    dimension: str
    has_past: bool
    points: tuple[Point, ...]

    @property
    def each(self) -> str:
        """What takes the times of the points."""
        return "token" if self.has_past else "run"


def sweeps_of(bounds: Iterable[ReportedBound]) -> list[Sweep]:
    """Those of the models that keep states from run to run, as decoders do."""
    of_files: dict[tuple[str, str, str, str], list[ReportedBound]] = {}
    for reported in bounds:
        bound = reported.bound
        if (bound.states.in_place or bound.states.copied) and not bound.partial:
            key = reported.file, bound.model, bound.system_id, bound.precision
            of_files.setdefault(key, []).append(reported)
    return [_sweep(points) for points in of_files.values() if len(points) > 1]


def _sweep(points: Sequence[ReportedBound]) -> Sweep:
    first = points[0].bound
    system = points[0].system
    sizes: dict[str, set[int]] = {}
    for reported in points:
        for name, size in reported.bound.dims.items():
            sizes.setdefault(name, set()).add(size)
    varying = [name for name, of_points in sizes.items() if len(of_points) > 1]
    dimension = next((name for name in varying if "past" in name.lower()), "".join(varying[:1]))
    others = [name for name in varying if _differs(name, dimension, points)]
    return Sweep(
        title=f"{first.model}, {first.precision}, {system.accelerator or system.cpu}",
        dimension=dimension,
        has_past=any("past" in name.lower() for name in sizes),
        points=tuple(_point(reported, dimension, others) for reported in points),
    )


def _differs(name: str, dimension: str, points: Iterable[ReportedBound]) -> bool:
    """Whether points of one length have several sizes of another dimension."""
    of_length: dict[int, int] = {}
    return any(
        of_length.setdefault(dims[dimension], dims[name]) != dims[name]
        for dims in (reported.bound.dims for reported in points)
        if {name, dimension} <= dims.keys()
    )


def _point(reported: ReportedBound, dimension: str, others: Iterable[str]) -> Point:
    bound: ModelBound = reported.bound
    dims: Mapping[str, int] = bound.dims
    return Point(
        sequences=bound.batch,
        length=dims.get(dimension, 0),
        others=escaped(named_sizes({name: dims[name] for name in others if name in dims})),
        bound_us=bound.sequential_us or 0.0,
        attainable_us=bound.attainable_us,
        measured_us=reported.runs[0].profile.us if reported.runs else None,
    )


def figures_of(sweep: Sweep) -> Iterator[tuple[str, str, go.Figure]]:
    """The name, the title and the drawing of each figure that the sweep has points enough for."""
    how = "lines: bounds, dashed: attainable estimates, crosses: fastest runs by frameworks"
    if len({point.length for point in sweep.points}) > 1:
        by = "the past" if sweep.has_past else escaped(sweep.dimension)
        yield "length", f"Time for each {sweep.each} by {by}; {how}", _by_length(sweep)
    if len({point.sequences for point in sweep.points}) > 1:
        what = "Tokens a second by the time for each"
        if not sweep.has_past:
            what = "Sequences a second by the time for each run"
        yield "throughput", f"{what}; {how}", _throughput(sweep)


def _by_length(sweep: Sweep) -> go.Figure:
    """A line for each number of sequences."""
    lines: dict[tuple[int, str], list[Point]] = {}
    for point in sweep.points:
        lines.setdefault((point.sequences, point.others), []).append(point)
    figure = go.Figure()
    for number, (sequences, others) in enumerate(sorted(lines)):
        points = sorted(lines[sequences, others], key=lambda point: point.length)
        name = ", ".join(filter(None, (plural(sequences, "sequence"), others)))
        for times, style in _times(points, number):
            known = [(p, us) for p, us in zip(points, times, strict=True) if us is not None]
            figure.add_scatter(
                name=name,
                x=[point.length for point, _ in known],
                y=[us for _, us in known],
                **style,
            )
    figure.update_xaxes(
        title=escaped(sweep.dimension), type="log", tickvals=_lengths(sweep), tickformat=",d"
    )
    figure.update_yaxes(title=f"µs for each {sweep.each}", type="log")
    return styled(figure)


def _throughput(sweep: Sweep) -> go.Figure:
    """A line for each length of the past, over numbers of sequences."""
    lines: dict[tuple[int, str], list[Point]] = {}
    for point in sweep.points:
        lines.setdefault((point.length, point.others), []).append(point)
    figure = go.Figure()
    for number, (length, others) in enumerate(sorted(lines)):
        points = sorted(lines[length, others], key=lambda point: point.sequences)
        past = f"{escaped(sweep.dimension)} {length:,}" if sweep.dimension else "bound"
        name = ", ".join(filter(None, (past, others)))
        for times, style in _times(points, number):
            known = [(p, us) for p, us in zip(points, times, strict=True) if us]
            figure.add_scatter(
                name=name,
                x=[us for _, us in known],
                y=[point.sequences * MILLION / us for point, us in known],
                hovertext=[plural(point.sequences, "sequence") for point, _ in known],
                **style,
            )
    figure.update_xaxes(title=f"µs for each {sweep.each}", type="log")
    what = "tokens" if sweep.has_past else "sequences"
    figure.update_yaxes(title=f"{what} a second", type="log")
    return styled(figure)


def _times(
    points: Sequence[Point], number: int
) -> Iterator[tuple[list[float | None], dict[str, object]]]:
    """The times of a line's points by each source, and how they are drawn; one is in the legend."""
    colour = COLOURS[number % len(COLOURS)]
    group = {"legendgroup": str(number)}
    yield (
        [point.bound_us for point in points],
        {"mode": "lines+markers", "line": {"color": colour}, "marker": {"size": 4}, **group},
    )
    yield (
        [point.attainable_us for point in points],
        {"mode": "lines", "line": {"color": colour, "dash": "dash"}, "showlegend": False, **group},
    )
    yield (
        [point.measured_us for point in points],
        {
            "mode": "markers",
            "marker": {"color": colour, "symbol": "x", "size": 9},
            "showlegend": False,
            **group,
        },
    )


def _lengths(sweep: Sweep) -> list[int]:
    return sorted({point.length for point in sweep.points})
