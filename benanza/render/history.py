"""The versions of a model's bounds, for people."""

from rich.console import Console

from benanza.render.table import Column, table
from benanza.render.units import TimeUnit, time_unit
from benanza.results import BoundVersion, History


def print_history(console: Console, history: History) -> None:
    """Prints a row for each version, oldest first, with what moved it."""
    versions = history.history
    unit = time_unit(version.sequential_us for version in versions)
    layer_unit = time_unit(version.layer_us for version in versions)
    columns = [
        Column("model", "left"),
        Column("batch"),
        Column("precision", "left"),
        Column("computed at (UTC)", "left"),
        Column(f"sequential {unit.name}"),
        Column("moved"),
        Column(f"parallel {unit.name}"),
        Column("missing"),
        Column("moved by", "left"),
        Column(f"layer {layer_unit.name}"),
    ]
    rows = [
        (
            version.model,
            str(version.batch),
            version.precision,
            f"{version.computed_at:%Y-%m-%d %H:%M:%S}",
            unit.format(version.sequential_us),
            _moved(unit, version),
            unit.format(version.parallel_us),
            str(version.missing),
            _moved_by(version),
            layer_unit.format(version.layer_us),
        )
        for version in versions
    ]
    console.print(table(columns, rows, plain=not console.is_terminal))


def _moved(unit: TimeUnit, version: BoundVersion) -> str:
    before = version.sequential_before_us
    if before is None:
        return ""
    difference = version.sequential_us - before
    return f"{'+' if difference >= 0 else '-'}{unit.format(abs(difference))}"


def _moved_by(version: BoundVersion) -> str:
    if version.moved_by != "measurement":
        return version.moved_by
    layer = f"{version.layer} ({version.op})" if version.layer else version.op
    return f"{layer}: {version.failure}" if version.failure else layer
