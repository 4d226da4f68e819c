"""The unique layers that are known, for people."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.answers.explain import variant
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, names, operators, printable, table
from benanza.render.units import TimeUnit, dimensions, plural, time_unit
from benanza.results.inspect import KnownLayer, KnownLayers, LayerTime

NONE_KNOWN = "no layers are known; say: benanza run MODEL, or benanza publish MODEL"

SHOWN = 20
"""So many layers are shown in a table unless another number is asked for."""

DIGITS_SHOWN = 12
"""Of a fingerprint: enough to find it with SQL among a million."""


class LayerThere(NamedTuple):
    """A layer, and its time on a system at a precision; `None` where nothing was tried anywhere."""

    layer: KnownLayer
    time: LayerTime | None

    @property
    def us(self) -> float | None:
        """Its best time there in microseconds."""
        return self.time.us if self.time else None

    @property
    def in_all_us(self) -> float | None:
        """What all its uses take together, in microseconds; for a network, one."""
        return None if self.us is None else self.us * max(self.layer.uses, 1)


def print_layers(console: Console, known: KnownLayers, limit: int = SHOWN) -> None:
    """Prints a table for each system and precision, of up to `limit` rows, and how many layers are
    measured there.
    """
    for part in _parts(known, limit, plain=not console.is_terminal):
        console.print(part)


def layers_html(known: KnownLayers) -> str:
    """The same for a notebook."""
    return html(_parts(known, SHOWN, plain=False))


def _parts(known: KnownLayers, limit: int, *, plain: bool) -> list[RenderableType]:
    if not known.layers:
        return [Text(NONE_KNOWN)]
    systems = SystemNames(time for layer in known.layers for time in layer.times)
    places: dict[tuple[str, str], list[LayerThere]] = {}
    for layer in known.layers:
        for time in layer.times:
            there = LayerThere(layer, time)
            places.setdefault((time.system_id, time.precision), []).append(there)
    parts: list[RenderableType] = []
    for some in places.values():
        parts += _place(some, systems, limit, plain=plain)
    if untried := [LayerThere(layer, None) for layer in known.layers if not layer.times]:
        parts.append(_table(untried[:limit], plain=plain))
        parts.append(Text(f"{_units(untried)}, none of them measured{_rest(untried, limit)}"))
    return parts


def _place(
    some: Sequence[LayerThere], systems: SystemNames, limit: int, *, plain: bool
) -> list[RenderableType]:
    rows = sorted(some, key=_most_first)
    time = rows[0].time
    assert time is not None, "a place is one of the layers' times"
    on = f"{_units(rows)}, {systems.measured_on(time)}{_outcomes(rows)}{_rest(rows, limit)}"
    return [_table(rows[:limit], plain=plain), Text(printable(on))]


def _most_first(there: LayerThere) -> tuple[bool, float]:
    """As all layers are sorted, but by the times of one place."""
    return there.us is None, -(there.us or 0.0) * there.layer.uses


def _table(rows: Sequence[LayerThere], *, plain: bool) -> Table:
    unit = time_unit(there.us for there in rows)
    in_all = time_unit(there.in_all_us for there in rows)
    columns = (
        names("operators"),
        Column("kind", "left", spare=3),
        Column("output", "left", spare=1),
        Column("fingerprint", "left", spare=2),
        Column("models", spare=4),
        Column("uses"),
        Column(f"each {unit.name}"),
        Column(f"in all {in_all.name}"),
        Column("algorithm", "left", spare=5),
    )
    return table(columns, [_row(there, unit, in_all) for there in rows], plain=plain)


def _row(there: LayerThere, unit: TimeUnit, in_all: TimeUnit) -> tuple[str, ...]:
    layer = there.layer
    counted = layer.kind != "network"
    return (
        operators(layer.title),
        layer.kind,
        " ".join(filter(None, (", ".join(map(dimensions, layer.outputs)), layer.dtype))),
        layer.fingerprint[:DIGITS_SHOWN],
        f"{layer.models:,}" if counted else "-",
        f"{layer.uses:,}" if counted else "-",
        unit.format(there.us),
        in_all.format(there.in_all_us),
        _how(there.time),
    )


def _how(time: LayerTime | None) -> str:
    """The call that takes the best time, or why there is none."""
    if time is None or (time.us is None and not time.failure):
        return "waits"
    return variant(time) if time.us is not None else f"failed: {time.failure}"


def _units(rows: Sequence[LayerThere]) -> str:
    """How many there are: `38 unique layers, 12 groups`."""
    kinds = [there.layer.kind for there in rows]
    counts = [
        plural(kinds.count("layer"), "unique layer"),
        *(plural(count, kind) for kind in ("group", "network") if (count := kinds.count(kind))),
    ]
    return ", ".join(counts)


def _outcomes(rows: Sequence[LayerThere]) -> str:
    """How many of them failed there, and how many wait."""
    untimed = [there.time for there in rows if there.time and there.time.us is None]
    failed = sum(bool(time.failure) for time in untimed)
    waiting = len(untimed) - failed
    wait = f"; {waiting:,} {'waits' if waiting == 1 else 'wait'}" if waiting else ""
    return (f"; {failed:,} failed" if failed else "") + wait


def _rest(rows: Sequence[LayerThere], limit: int) -> str:
    more = len(rows) - limit
    return f"; {more:,} more than shown: --limit shows more, --format json all" if more > 0 else ""
