"""A bound that was found again, for people."""

from rich.console import Console
from rich.text import Text

from benanza.render.table import Column, printable, table
from benanza.render.units import TimeUnit, plural, time_unit
from benanza.results.specs import Reproduced

NOTHING = "nothing that is known of differs"


def print_reproduced(console: Console, reproduced: Reproduced) -> None:
    """Prints both figures, and a table of what differs."""
    for line in _lines(reproduced):
        console.print(Text(printable(line)))
    if reproduced.differences:
        columns = Column("what", "left"), Column("then", "left"), Column("now", "left")
        rows = [
            (difference.what, difference.then or "-", difference.now or "-")
            for difference in reproduced.differences
        ]
        console.print(table(columns, rows, plain=not console.is_terminal))


def _lines(reproduced: Reproduced) -> list[str]:
    then, now = reproduced.spec.bound, reproduced.bound
    unit = time_unit([then.sequential_us, now.sequential_us])
    before = _figure(then.sequential_us, then.sequential_spread_us, unit)
    after = _figure(now.sequential_us, now.sequential_spread_us, unit)
    about = f"{reproduced.spec.model.name}, batch {now.batch}, {now.precision}, {now.accounting}"
    verdict = "the same within their spread" if reproduced.same else _difference(reproduced)
    lines = [f"{about}: {before} {unit.name} then, {after} {unit.name} now: {verdict}"]
    if not (reproduced.same or reproduced.differences):
        lines.append(NOTHING)
    if now.slowed.calls:
        by = ", ".join(now.slowed.by)
        calls = plural(now.slowed.calls, "call")
        lines.append(f"timed now while the device was slowed down ({by}): {calls}")
    if reproduced.layers.known:
        lines.append(
            f"{plural(reproduced.layers.known, 'layer')} had been measured here before; with "
            "another --data all are measured anew"
        )
    return lines


def _difference(reproduced: Reproduced) -> str:
    then_us, now_us = reproduced.spec.bound.sequential_us, reproduced.bound.sequential_us
    if reproduced.spec.bound.partial != reproduced.bound.partial or not then_us or now_us is None:
        return "one of them lacks layers"
    return f"{now_us / then_us - 1:+.1%}"


def _figure(us: float | None, spread_us: float | None, unit: TimeUnit) -> str:
    return unit.format(us) + (f" ± {unit.format(spread_us)}" if spread_us is not None else "")
