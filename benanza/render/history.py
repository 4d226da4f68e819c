"""The versions of a model's bounds, for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benanza.render.bounds import counted, model_at
from benanza.render.systems import SystemNames
from benanza.render.table import Column, printable, table
from benanza.render.units import TimeUnit, time_unit
from benanza.results.bounds import History
from benanza_backbone.clickhouse.bounds import BoundVersion


def print_history(console: Console, history: History) -> None:
    """Prints a table for each bound: a row for each version, oldest first, with what moved it."""
    bounds: dict[tuple[str, str, str], list[BoundVersion]] = {}
    for version in history.history:
        key = (version.model_id, version.system_id, version.precision)
        bounds.setdefault(key, []).append(version)
    systems = SystemNames(history.history)
    for versions in bounds.values():
        last = versions[-1]
        title = f"{model_at(last)}, {systems.measured_on(last)}{counted(last)}"
        console.print(Text(printable(title)))
        console.print(_table(versions, plain=not console.is_terminal))


def _table(versions: Sequence[BoundVersion], *, plain: bool) -> Table:
    unit = time_unit(version.sequential_us for version in versions)
    layer_unit = time_unit(version.layer_us for version in versions)
    columns = (
        Column("computed at (UTC)", "left"),
        Column(f"sequential {unit.name}"),
        Column("moved"),
        Column(f"parallel {unit.name}"),
        Column("missing"),
        Column(f"layer {layer_unit.name}"),
        Column("moved by", "left"),
    )
    rows = [
        (
            f"{version.computed_at:%Y-%m-%d %H:%M:%S}",
            unit.format(version.sequential_us),
            _moved(unit, version),
            unit.format(version.parallel_us),
            str(version.missing),
            layer_unit.format(version.layer_us),
            _moved_by(version),
        )
        for version in versions
    ]
    return table(columns, rows, plain=plain)


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
    layer = f"{version.layer} ({version.op})" if version.layer else version.op
    return f"{layer}: {version.failure}" if version.failure else layer
