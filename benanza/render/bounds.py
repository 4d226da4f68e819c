"""Lower bounds, what they lack, and what reuse saved, for people."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.table import Column, html, printable, table
from benanza.render.units import TimeUnit, plural, time_unit
from benanza.results import Bound, Bounds, BoundVersion, LayerCounts, LowerBounds, Witness

MISSING_SHOWN = 10
"""Missing layers to list for one bound; the JSON document has them all."""


def print_bounds(console: Console, bounds: Bounds) -> None:
    """Prints a table of bounds, and the layers that partial ones lack."""
    _print(console, _bounds(bounds.bounds, plain=not console.is_terminal))


def print_lower_bounds(console: Console, found: LowerBounds) -> None:
    """Prints what `print_bounds` does, and what became of the layers."""
    _print(console, _lower_bounds(found, plain=not console.is_terminal))


def bounds_html(bounds: Bounds) -> str:
    """Bounds for a notebook."""
    return html(_bounds(bounds.bounds, plain=False))


def lower_bounds_html(found: LowerBounds) -> str:
    """The result of a run for a notebook."""
    return html(_lower_bounds(found, plain=False))


def _print(console: Console, parts: Sequence[RenderableType]) -> None:
    for part in parts:
        console.print(part)


def _lower_bounds(found: LowerBounds, *, plain: bool) -> list[RenderableType]:
    return [*_bounds(found.bounds, plain=plain), Text(_reuse(found.layers))]


def _reuse(layers: LayerCounts) -> str:
    saved = layers.total - layers.benchmarked - layers.failed
    return (
        f"{plural(layers.total, 'layer')}, {layers.unique:,} unique: {layers.known:,} known, "
        f"{layers.benchmarked:,} benchmarked, {layers.failed:,} failed; "
        f"reuse saved {plural(saved, 'benchmark')}"
    )


def _bounds(bounds: Sequence[Bound], *, plain: bool) -> list[RenderableType]:
    """A table for each system and precision, and then what is missing."""
    if not bounds:
        return [Text("no bounds are known; say: benanza run MODEL")]
    parts: list[RenderableType] = []
    tables: dict[tuple[str, str], list[Bound]] = {}
    for bound in bounds:
        tables.setdefault((bound.system_id, bound.precision), []).append(bound)
    for rows in tables.values():
        parts.append(_table(rows, plain=plain))
        parts.append(Text(printable(measured_on(rows[0]))))
    return parts + [Text(line) for bound in bounds if bound.partial for line in _missing(bound)]


def measured_on(found: Bound | BoundVersion | Witness) -> str:
    """On what, with what and at which precision the layers were measured."""
    return f"measured on {found.system} with {found.runtime} at {found.precision}"


def _table(bounds: Sequence[Bound], *, plain: bool) -> Table:
    unit = time_unit(bound.sequential_us for bound in bounds)
    estimated = any(bound.attainable_us is not None for bound in bounds)
    columns = (
        Column("model", "left"),
        Column("batch"),
        Column("layers"),
        Column("unique"),
        Column(f"sequential {unit.name}"),
        Column(f"parallel {unit.name}"),
        *([Column(f"attainable {unit.name}")] if estimated else []),
        Column(f"roofline {unit.name}"),
        Column("coverage", "left"),
    )
    rows = [
        (
            bound.model,
            str(bound.batch),
            f"{bound.layers:,}",
            f"{bound.unique_layers:,}",
            _with_spread(unit, bound, bound.sequential_us, bound.sequential_spread_us),
            _with_spread(unit, bound, bound.parallel_us, bound.parallel_spread_us),
            *([unit.format(bound.attainable_us)] if estimated else []),
            unit.format(bound.roofline_us),
            _coverage(bound),
        )
        for bound in bounds
    ]
    return table(columns, rows, plain=plain)


def _with_spread(unit: TimeUnit, bound: Bound, value_us: float, spread_us: float) -> str:
    if bound.partial and not bound.coverage.measured:
        return "-"
    return f"{unit.format(value_us)} ± {unit.format(spread_us)}"


def _coverage(bound: Bound) -> str:
    if not bound.partial:
        return "full"
    measured, missing = bound.coverage.measured, len(bound.coverage.missing)
    return f"partial: {measured:,} of {measured + missing:,}"


def _missing(bound: Bound) -> list[str]:
    missing = bound.coverage.missing
    lines = [
        f"{bound.model}, batch {bound.batch}, {bound.precision}: the bound is partial; "
        f"it lacks {plural(len(missing), 'layer')}:",
        *(f"  {layer.name} ({layer.op}): {layer.reason}" for layer in missing[:MISSING_SHOWN]),
    ]
    if len(missing) > MISSING_SHOWN:
        lines.append(f"  and {len(missing) - MISSING_SHOWN:,} more; --format json lists all")
    return [printable(line) for line in lines]
