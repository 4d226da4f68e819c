"""The versions of a model's bounds, for people."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.bounds import counted, model_at, named_layer
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, printable, table
from benanza.render.units import TimeUnit, plural, time_unit
from benanza.results.bounds import History
from benanza_backbone.clickhouse.bounds import BoundVersion
from benanza_schemas.vocabulary import SUBMITTED

PAUSE = timedelta(minutes=10)
"""The longest time between two versions of one run: few layers take as long."""


def print_history(console: Console, history: History, limit: int | None = None) -> None:
    """Prints a table for each bound: a row for each version, oldest first, with what moved it.

    Those of a first run are one row. With a limit, only so many rows are printed, the newest.
    """
    for part in _parts(history, limit, plain=not console.is_terminal):
        console.print(part)


def history_html(history: History) -> str:
    """The same for a notebook."""
    return html([*_parts(history, None, plain=False)])


def _parts(history: History, limit: int | None, *, plain: bool) -> Iterator[RenderableType]:
    bounds: dict[tuple[str, str, str], list[BoundVersion]] = {}
    for version in history.history:
        key = (version.model_id, version.system_id, version.precision)
        bounds.setdefault(key, []).append(version)
    systems = SystemNames(history.history)
    for versions in bounds.values():
        last = versions[-1]
        title = f"{model_at(last)}, {systems.measured_on(last)}{counted(last)}"
        yield Text(printable(title))
        yield _table(versions, limit, plain=plain)


def first_run(versions: Sequence[BoundVersion]) -> int:
    """How many of a bound's versions are of the first run of its model: up to the first one that a
    layer has moved for the second time, that a withdrawal has moved, or that came after a pause.
    They are sorted by time.
    """
    moved_by: set[str] = set()
    for number, version in enumerate(versions):
        again = version.fingerprint in moved_by
        paused = number and version.computed_at - versions[number - 1].computed_at > PAUSE
        if again or paused or version.moved_by == "withdrawal":
            return number
        if version.moved_by == "measurement":
            moved_by.add(version.fingerprint)
    return len(versions)


def _table(versions: Sequence[BoundVersion], limit: int | None, *, plain: bool) -> Table:
    folded = max(first_run(versions), 1)
    shown = versions[folded - 1 :]
    unit = time_unit(version.sequential_us for version in shown)
    layer_unit = time_unit(version.layer_us for version in shown)
    columns = (
        Column("computed at (UTC)", "left"),
        Column(f"sequential {unit.name}"),
        Column("moved"),
        Column(f"parallel {unit.name}", spare=3),
        Column("missing", spare=2),
        Column(f"layer {layer_unit.name}", spare=1),
        Column("moved by", "left"),
    )
    rows = [
        (
            f"{version.computed_at:%Y-%m-%d %H:%M:%S}",
            unit.format(version.sequential_us),
            "" if first else _moved(unit, version),
            unit.format(version.parallel_us),
            str(version.missing),
            "" if first else layer_unit.format(version.layer_us),
            first or _moved_by(version),
        )
        for number, version in enumerate(shown)
        for first in [_first_run(versions[:folded]) if number == 0 else ""]
    ]
    return table(columns, rows[-limit:] if limit else rows, plain=plain)


def _first_run(versions: Sequence[BoundVersion]) -> str:
    """What a row says that stands for several versions; nothing for one."""
    if len(versions) == 1:
        return ""
    measured = sum(version.moved_by == "measurement" for version in versions)
    return f"the first run: {plural(measured, 'measurement')} moved it"


def _moved(unit: TimeUnit, version: BoundVersion) -> str:
    before, after = version.sequential_before_us, version.sequential_us
    if before is None or after is None:
        return ""
    difference = after - before
    return f"{'+' if difference >= 0 else '-'}{unit.format(abs(difference))}"


def _moved_by(version: BoundVersion) -> str:
    """What moved the bound: a layer that was measured, or the kind of event."""
    if version.moved_by != "measurement":
        return version.moved_by
    layer = named_layer(version.layer, version.op)
    if version.library == SUBMITTED:
        author, _, kernel = version.algorithm.partition("/")
        return f"{layer}, by {author}: {kernel}"
    return f"{layer}: {version.failure}" if version.failure else layer
