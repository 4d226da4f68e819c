"""Bounds beside others of the same models, for people."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.bounds import counted, model_at
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, names, operators, printable, prose, shortened, table
from benanza.render.units import TimeUnit, plural, time_unit
from benanza.results.bounds import ComparedBound, Comparison
from benanza.results.what_if import WhatIfLayers

SHOWN = 3
"""Differences to name for one bound; the JSON document has them all."""


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Prints a table for each system and precision, with a row for each bound."""
    for part in _parts(comparison, plain=not console.is_terminal):
        console.print(part)


def comparison_html(comparison: Comparison) -> str:
    """A comparison for a notebook."""
    return html(_parts(comparison, plain=False))


def _parts(comparison: Comparison, *, plain: bool) -> list[RenderableType]:
    systems = SystemNames(
        side for compared in comparison.bounds for side in (compared.bound, compared.other)
    )
    groups: dict[tuple[str, str, str], list[ComparedBound]] = {}
    for compared in comparison.bounds:
        key = compared.bound.system_id, compared.bound.precision, compared.other.system_id
        groups.setdefault(key, []).append(compared)
    parts: list[RenderableType] = []
    for rows in groups.values():
        one, other = rows[0].bound, rows[0].other
        beside = systems.name(other) if one.system_id != other.system_id else comparison.beside
        parts.append(_table(rows, plain=plain))
        title = f"{systems.measured_on(one)}{counted(one)}; other: {beside}"
        parts.append(Text(printable(title)))
    return parts


def _table(rows: Sequence[ComparedBound], *, plain: bool) -> Table:
    unit = time_unit(compared.bound.sequential_us for compared in rows)
    columns = (
        names("model"),
        Column(f"sequential {unit.name}"),
        Column(f"other {unit.name}"),
        Column("other / this"),
        prose("most of the difference"),
    )
    cells = [
        (
            model_at(compared.bound),
            unit.format(compared.bound.sequential_us),
            unit.format(compared.other.sequential_us),
            "-" if compared.ratio is None else f"{compared.ratio:.3f}",
            _why(compared, unit),
        )
        for compared in rows
    ]
    return table(columns, cells, plain=plain)


def _why(compared: ComparedBound, unit: TimeUnit) -> str:
    if compared.moved_by:
        layers = dict.fromkeys(
            version.layer or version.moved_by for version in reversed(compared.moved_by)
        )
        named = ", ".join(list(map(shortened, layers))[:SHOWN])
        return f"{plural(len(compared.moved_by), 'version')}, the last by {named}"
    if compared.bound.partial or compared.other.partial:
        return "partial"
    return "; ".join(_layers(difference, unit) for difference in compared.layers[:SHOWN]) or "-"


def _layers(difference: WhatIfLayers, unit: TimeUnit) -> str:
    more = difference.us - difference.bound_us
    sign = "+" if more > 0 else "-"
    return (
        f"{sign}{unit.format(abs(more))} {operators(difference.op)} "
        f"{shortened(difference.layers[0])}"
    )
