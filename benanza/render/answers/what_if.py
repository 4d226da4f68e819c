"""What bounds would be under other policies, for people."""

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.answers.explain import NONE_SUCH
from benanza.render.bounds import model_at
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, operators, printable, shortened, table
from benanza.render.units import TimeUnit, named_sizes, plural, time_unit
from benanza.results.what_if import LEAST_SAVING, BatchSizes, ModelWhatIfs, WhatIf, WhatIfs

NO_DIFFERENCE = "none of what was measured makes a difference"

LAYERS_SHOWN = 3


def print_what_ifs(console: Console, found: WhatIfs) -> None:
    """Prints a table for each bound, with a row for each policy that makes a difference; and one
    for each model with several batch sizes.
    """
    for part in _parts(found, plain=not console.is_terminal):
        console.print(part)


def what_ifs_html(found: WhatIfs) -> str:
    """What-ifs for a notebook."""
    return html(_parts(found, plain=False))


def _parts(found: WhatIfs, *, plain: bool) -> list[RenderableType]:
    if not found.models:
        return [Text(NONE_SUCH)]
    systems = SystemNames(each.bound for each in found.models)
    parts: list[RenderableType] = []
    for each in found.models:
        unit = time_unit([each.bound.sequential_us])
        time = f"{unit.format(each.bound.sequential_us)} {unit.name}"
        title = f"{model_at(each.bound)}: {time}, {systems.measured_on(each.bound)}"
        parts.append(Text(printable(title)))
        parts.append(_table(each, unit, plain=plain) if each.what_ifs else Text(NO_DIFFERENCE))
    for sizes in found.batch_sizes:
        name = ", ".join(filter(None, (sizes.model, named_sizes(sizes.dims))))
        parts.append(Text(printable(f"{name}, by batch size, {systems.measured_on(sizes)}")))
        parts.append(_batch_sizes(sizes, plain=plain))
        parts.append(Text(_enough(sizes)))
    return parts


def _batch_sizes(found: BatchSizes, *, plain: bool) -> Table:
    unit = time_unit(each.us_a_sample for each in found.sizes)
    columns = (
        Column("batch"),
        Column(f"bound {unit.name}"),
        Column(f"{unit.name} a sample"),
        Column("samples/s"),
        Column("a doubling saves"),
    )
    rows = [
        (
            f"{each.batch:,}",
            unit.format(each.sequential_us),
            unit.format(each.us_a_sample),
            f"{1e6 / each.us_a_sample:,.0f}",
            "-" if each.saves is None else f"{each.saves:.1%}",
        )
        for each in found.sizes
    ]
    return table(columns, rows, plain=plain)


def _enough(found: BatchSizes) -> str:
    if found.enough is None:
        return f"a larger batch than {found.sizes[-1].batch:,} may pay"
    least = f"{LEAST_SAVING:.0%} of a sample's time"
    return f"a larger batch than {found.enough:,} saves less than {least} a doubling"


def _table(found: ModelWhatIfs, unit: TimeUnit, *, plain: bool) -> Table:
    columns = (
        Column("what if", "left"),
        Column(f"bound {unit.name}"),
        Column(f"more {unit.name}"),
        Column("ratio"),
        Column("calls"),
        Column("most of it", "left"),
    )
    rows = [
        (
            each.name,
            unit.format(each.sequential_us),
            "-"
            if each.more_us is None
            else f"{each.more_us / unit.microseconds:+,.{unit.decimals}f}",
            "-" if each.ratio is None else f"{each.ratio:.2f}",
            f"{each.calls:,}",
            _most(each, unit),
        )
        for each in found.what_ifs
    ]
    return table(columns, rows, plain=plain)


def _most(found: WhatIf, unit: TimeUnit) -> str:
    """The layers that make the greatest differences, or why nothing can be compared."""
    if found.more_us is None:
        return f"lacks {plural(found.lacking, 'layer')}"
    return ", ".join(
        f"{shortened(each.layers[0]) or each.positions[0]} ({operators(each.op)}) "
        f"{_signed(each.us - each.bound_us, unit)}"
        for each in found.layers[:LAYERS_SHOWN]
    )


def _signed(us: float, unit: TimeUnit) -> str:
    return f"{us / unit.microseconds:+,.{unit.decimals}f}"
