"""What changed in evaluations, for people."""

from collections.abc import Iterator

from rich.console import Console

from benanza.agents.changes import ChangedFigure, EvaluationChange, EvaluationChanges, enough
from benanza.render.table import Column, names, printable, prose, table
from benanza.render.units import plural

COLUMNS = (
    names("model"),
    Column("device", "left", is_name=True, spare=1),
    Column("scenario", "left"),
    prose("what changed"),
    Column("figure", "left"),
    Column("before"),
    Column("now"),
    Column("change"),
    Column("runs", spare=2),
    prose("by the spread of runs"),
)


def print_changes(console: Console, found: EvaluationChanges) -> None:
    """Prints a row for each figure of each change."""
    if found.changes:
        rows = [row for change in found.changes for row in _rows(change)]
        console.print(table(COLUMNS, rows, plain=not console.is_terminal))
    else:
        console.print("no model was evaluated by two systems on the same device")
    if found.others:
        console.print(f"{plural(found.others, 'evaluation')} of one system alone")


def _rows(change: EvaluationChange) -> Iterator[tuple[str, ...]]:
    what = "; ".join(
        f"{name} {old or '-'} to {new or '-'}" for name, (old, new) in change.what.items()
    )
    if change.framework not in change.what:
        what = f"{change.framework}: {what}"
    head: tuple[str, ...] = (
        printable(change.model),
        printable(change.device),
        change.scenario,
        printable(what),
    )
    for each in change.figures:
        per_s = each.figure == "per_s"
        yield (
            *head,
            "per s" if per_s else each.figure.removesuffix("_us") + " ms",
            *(
                f"{value:,.1f}" if per_s else f"{value / 1e3:,.3f}"
                for value in (each.before, each.now)
            ),
            f"{each.ratio - 1:+.1%}",
            f"{change.runs_before}, {change.runs}",
            _verdict(each, change),
        )
        head = ("",) * len(head)


def _verdict(figure: ChangedFigure, change: EvaluationChange) -> str:
    """Whether it is more than noise."""
    if figure.sure:
        return "beyond it"
    if not enough(change.runs_before, change.runs):
        return "unknown: evaluate each again"
    return f"within it: {figure.spread_before:.1%}, {figure.spread:.1%}"
