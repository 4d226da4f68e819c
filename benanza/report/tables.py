"""The tables of a report: columns, and what is in them."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from benanza.looking.calls.forms import said
from benanza.render.systems import SystemNames
from benanza.render.table import operators
from benanza.report.answer import run_title
from benanza.report.content import ReportedBound
from benanza.report.figures.style import took
from benanza.report.kinds import kind_of_call

Cell = str | float | None
"""None stands for what isn't known."""


class TableColumn(NamedTuple):
    """A column with its title. Of a number `digits` are shown behind the point; without, it is
    text. `seen` says where it is in sight: on every page, on wide ones, or where a row is opened.
    """

    title: str
    digits: int | None = None
    seen: Literal["always", "wide", "opened"] = "wide"


class SortedTable(NamedTuple):
    """A table whose rows a reader sorts; at first by the column `by`, the greatest first, or, if
    that is none, as they are. `name` is that of its file.
    """

    name: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    by: int | None = None


CALLS = (
    TableColumn("call", 0, seen="always"),
    TableColumn("operators", seen="always"),
    TableColumn("kind"),
    TableColumn("µs", 2, seen="always"),
    TableColumn("% of the bound", 1, seen="always"),
    TableColumn("library"),
    TableColumn("% of its speed of light", 0),
    TableColumn("limited by"),
    TableColumn("layers", seen="opened"),
    TableColumn("algorithm", seen="opened"),
    TableColumn("layout", seen="opened"),
    TableColumn("± µs", 3, seen="opened"),
    TableColumn("conversion of layouts µs", 2, seen="opened"),
    TableColumn("GFLOP/s", 1, seen="opened"),
    TableColumn("GB/s", 1, seen="opened"),
    TableColumn("critical", seen="opened"),
    TableColumn("reads", seen="opened"),
    TableColumn("weights and other constants", seen="opened"),
    TableColumn("gives", seen="opened"),
    TableColumn("MB of constants", 3, seen="opened"),
    TableColumn("MB of values alive", 3, seen="opened"),
    TableColumn("attributes", seen="opened"),
)


def calls_of(reported: ReportedBound) -> SortedTable:
    """The calls of a bound, with the conversions of layouts before them, and what is held in memory
    while each runs; the slowest first.
    """
    rows = []
    for number, call in enumerate(reported.calls):
        form = reported.forms.get(call.fingerprint)
        rows.append(
            (
                number + 1,
                operators(call.op),
                kind_of_call(call.op, call.rule),
                took(call),
                100 * call.share,
                call.library or None,
                100 * call.roofline_us / call.us if call.roofline_us and call.us else None,
                call.limited_by,
                ", ".join(call.layers),
                call.algorithm or None,
                call.layout or None,
                call.iqr_us,
                call.conversion_us,
                call.flops / call.us / 1e3 if call.us else None,
                call.bytes / call.us / 1e3 if call.us else None,
                "yes" if call.critical else "no",
                form and said(form.reads),
                form and said(form.constants),
                form and said(form.gives),
                None if call.constant_bytes is None else call.constant_bytes / 1e6,
                None if call.alive_bytes is None else call.alive_bytes / 1e6,
                form and form.attributes,
            )
        )
    return SortedTable("calls", CALLS, tuple(rows), [column.title for column in CALLS].index("µs"))


RUNS = (
    TableColumn("run", seen="always"),
    TableColumn("µs", 1, seen="always"),
    TableColumn("± µs", 1),
    TableColumn("times the bound", 2, seen="always"),
    TableColumn("calls", 0),
    TableColumn("measured"),
)


def runs_of(reported: ReportedBound) -> SortedTable:
    """The runs by frameworks, the fastest first."""
    bound_us = reported.bound.sequential_us
    rows = [
        (
            run_title(run),
            run.profile.us,
            run.profile.iqr_us,
            run.profile.us / bound_us if run.profile.us and bound_us else None,
            len(run.profile.calls) or None,
            f"{run.profile.profiled_at:%Y-%m-%d}",
        )
        for run in reported.runs
    ]
    return SortedTable("runs", RUNS, tuple(rows))


def contents(bounds: Sequence[ReportedBound]) -> list[tuple[str, Sequence[ReportedBound]]]:
    """The bounds by system and precision, each under its title."""
    systems = SystemNames([reported.bound for reported in bounds])
    groups: dict[str, list[ReportedBound]] = {}
    for reported in bounds:
        name = f"{systems.name(reported.bound)}, {reported.bound.precision}"
        groups.setdefault(name, []).append(reported)
    return list(groups.items())
