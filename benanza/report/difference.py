"""Two bounds beside each other: where one takes longer than the other."""

from collections.abc import Callable, Sequence
from datetime import datetime

from benanza.render.table import operators
from benanza.report.answer import time_text
from benanza.report.content import ReportedBound
from benanza.report.figures.style import hover
from benanza.report.figures.timeline import of_bound, tracked
from benanza.report.kinds import kind_of_call
from benanza.report.layouts import LEAST_SHARE
from benanza.report.page import packed_data, rendered
from benanza.report.tables import Cell, SortedTable, TableColumn
from benanza.results.explain import ExplainedCall

CHOICE = (
    TableColumn("choice", seen="always"),
    TableColumn("first, µs", 1, seen="always"),
    TableColumn("second, µs", 1, seen="always"),
)


def page_of_difference(one: ReportedBound, other: ReportedBound, at: datetime | None = None) -> str:
    """A page about both, as the text of an HTML file, made at this time, now if not said."""
    tracks = {"the first": of_bound(one), "the second": of_bound(other, len(one.calls))}
    tables = {
        "kinds": by("kind", one, other, lambda call: kind_of_call(call.op, call.rule)),
        "operators": by("operators", one, other, lambda call: operators(call.op)),
        "choices": choices(one, other),
    }
    hovers = list(map(hover, (*one.calls, *other.calls)))
    data = packed_data("difference", {"timeline": tracked(tracks)}, tables, hovers=hovers)
    return rendered(
        "difference.html.jinja",
        at,
        data={"difference": data},
        models=list(dict.fromkeys((one.bound.model, other.bound.model))),
        sides=(one, other),
        difference=said(one, other),
    )


def said(one: ReportedBound, other: ReportedBound) -> str:
    """How much longer the second takes, and by which kinds of calls: by one of them if that has
    more than half of it, and no other takes it back; else by the two that differ most.
    """
    us, other_us = one.bound.sequential_us, other.bound.sequential_us
    if us is None or other_us is None or one.bound.partial or other.bound.partial:
        return "One of the two lacks layers, so which takes longer isn't known."
    more_us = other_us - us
    if abs(more_us) < 0.01 * us:
        return "Both take as long, within the hundredth by which measurements differ."
    share = f" ({abs(more_us) / us:.0%})" if us else ""
    text = f"The second takes {time_text(abs(more_us))}{share} {'more' if more_us > 0 else 'less'}"
    kinds = by("kind", one, other, lambda call: kind_of_call(call.op, call.rule)).rows
    shares = [(kind, _number(more) / more_us) for kind, *_, more in kinds]
    most, share_of_most = shares[0]
    if share_of_most > 0.5 and min(share for _, share in shares) > -LEAST_SHARE:
        return f"{text}, most of it by calls of the kind {most}."
    two = (f"{kind} ({_signed(share * more_us)})" for kind, share in shares[:2])
    return f"{text}; by kinds of calls, most by {' and '.join(two)}."


def by(
    what: str,
    one: ReportedBound,
    other: ReportedBound,
    key: Callable[[ExplainedCall], str],
) -> SortedTable:
    """The times and numbers of calls of both by a key, the greatest differences first."""
    sums: dict[str, list[float]] = {}
    for side, reported in enumerate((one, other)):
        for call in reported.calls:
            if took := call.us + call.conversion_us:
                of = sums.setdefault(key(call), [0.0, 0.0, 0.0, 0.0])
                of[2 * side] += 1
                of[2 * side + 1] += took
    columns = (
        TableColumn(what, seen="always"),
        TableColumn("first, calls", 0),
        TableColumn("first, µs", 1, seen="always"),
        TableColumn("second, calls", 0),
        TableColumn("second, µs", 1, seen="always"),
        TableColumn("more in the second, µs", 1, seen="always"),
    )
    rows: list[tuple[Cell, ...]] = [(name, *of, of[3] - of[1]) for name, of in sums.items()]
    rows.sort(key=lambda row: -abs(_number(row[-1])))
    return SortedTable(what, columns, tuple(rows))


def choices(one: ReportedBound, other: ReportedBound) -> SortedTable:
    """What policies are worth in both; unknown where they lack layers."""
    sides = [{each.name: each.more_us for each in side.what_ifs} for side in (one, other)]
    names = dict.fromkeys(name for side in sides for name in side)
    rows: Sequence[tuple[Cell, ...]] = [
        (name, *(side.get(name, 0.0) for side in sides)) for name in names
    ]
    return SortedTable("choices", CHOICE, tuple(rows))


def _signed(us: float) -> str:
    return f"{us:+,.1f} µs".replace("-", "−")


def _number(cell: Cell) -> float:
    return cell if isinstance(cell, float) else 0.0
