"""Bounds beside others of the same models, for people."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.bounds import counted, model_at
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, names, operators, printable, shortened, table
from benanza.render.units import TimeUnit, plural, time_unit
from benanza.results.bounds import ComparedBound, Comparison
from benanza.results.what_if import WhatIfLayers

SHOWN = 3
"""Differences to name for one bound; the JSON document has them all."""


def print_comparison(console: Console, found: Comparison) -> None:
    """Prints a table for each system and precision, with a row for each bound."""
    for part in _parts(found, plain=not console.is_terminal):
        console.print(part)


def comparison_html(found: Comparison) -> str:
    """A comparison for a notebook."""
    return html(_parts(found, plain=False))


def _parts(found: Comparison, *, plain: bool) -> list[RenderableType]:
    systems = SystemNames(side for each in found.bounds for side in (each.bound, each.other))
    groups: dict[tuple[str, str, str], list[ComparedBound]] = {}
    for each in found.bounds:
        key = each.bound.system_id, each.bound.precision, each.other.system_id
        groups.setdefault(key, []).append(each)
    parts: list[RenderableType] = []
    for rows in groups.values():
        one, other = rows[0].bound, rows[0].other
        beside = systems.name(other) if one.system_id != other.system_id else found.beside
        parts.append(_table(rows, plain=plain))
        title = f"{systems.measured_on(one)}{counted(one)}; other: {beside}"
        parts.append(Text(printable(title)))
    return parts


def _table(rows: Sequence[ComparedBound], *, plain: bool) -> Table:
    unit = time_unit(each.bound.sequential_us for each in rows)
    columns = (
        names("model"),
        Column(f"sequential {unit.name}"),
        Column(f"other {unit.name}"),
        Column("other / this"),
        Column("most of the difference", "left"),
    )
    cells = [
        (
            model_at(each.bound),
            unit.format(each.bound.sequential_us),
            unit.format(each.other.sequential_us),
            "-" if each.ratio is None else f"{each.ratio:.3f}",
            _why(each, unit),
        )
        for each in rows
    ]
    return table(columns, cells, plain=plain)


def _why(found: ComparedBound, unit: TimeUnit) -> str:
    if found.moved_by:
        layers = dict.fromkeys(each.layer or each.moved_by for each in reversed(found.moved_by))
        named = ", ".join(list(map(shortened, layers))[:SHOWN])
        return f"{plural(len(found.moved_by), 'version')}, the last by {named}"
    if found.bound.partial or found.other.partial:
        return "partial"
    return "; ".join(_layers(each, unit) for each in found.layers[:SHOWN]) or "-"


def _layers(found: WhatIfLayers, unit: TimeUnit) -> str:
    more = found.us - found.bound_us
    sign = "+" if more > 0 else "-"
    return f"{sign}{unit.format(abs(more))} {operators(found.op)} {shortened(found.layers[0])}"
