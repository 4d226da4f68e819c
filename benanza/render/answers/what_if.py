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


def print_what_ifs(console: Console, what_ifs: WhatIfs) -> None:
    """Prints a table for each bound, with a row for each policy that makes a difference; and one
    for each model with several batch sizes.
    """
    for part in _parts(what_ifs, plain=not console.is_terminal):
        console.print(part)


def what_ifs_html(what_ifs: WhatIfs) -> str:
    """What-ifs for a notebook."""
    return html(_parts(what_ifs, plain=False))


def _parts(what_ifs: WhatIfs, *, plain: bool) -> list[RenderableType]:
    if not what_ifs.models:
        return [Text(NONE_SUCH)]
    systems = SystemNames(model.bound for model in what_ifs.models)
    parts: list[RenderableType] = []
    for model in what_ifs.models:
        unit = time_unit([model.bound.sequential_us])
        time = f"{unit.format(model.bound.sequential_us)} {unit.name}"
        missing = len(model.bound.coverage.missing) if model.bound.partial else 0
        partial = f", without {plural(missing, 'missing layer')}" if missing else ""
        title = f"{model_at(model.bound)}: {time}{partial}, {systems.measured_on(model.bound)}"
        parts.append(Text(printable(title)))
        parts.append(_table(model, unit, plain=plain) if model.what_ifs else Text(NO_DIFFERENCE))
    for sizes in what_ifs.batch_sizes:
        name = ", ".join(filter(None, (sizes.model, named_sizes(sizes.dims))))
        parts.append(Text(printable(f"{name}, by batch size, {systems.measured_on(sizes)}")))
        parts.append(_batch_sizes(sizes, plain=plain))
        parts.append(Text(_enough(sizes)))
    return parts


def _batch_sizes(sizes: BatchSizes, *, plain: bool) -> Table:
    unit = time_unit(size.us_a_sample for size in sizes.sizes)
    columns = (
        Column("batch"),
        Column(f"bound {unit.name}"),
        Column(f"{unit.name} a sample", spare=1),
        Column("samples/s"),
        Column("a doubling saves"),
    )
    rows = [
        (
            f"{size.batch:,}",
            unit.format(size.sequential_us),
            unit.format(size.us_a_sample),
            f"{1e6 / size.us_a_sample:,.0f}",
            "-" if size.saves is None else f"{size.saves:.1%}",
        )
        for size in sizes.sizes
    ]
    return table(columns, rows, plain=plain)


def _enough(sizes: BatchSizes) -> str:
    if sizes.enough is None:
        return f"a larger batch than {sizes.sizes[-1].batch:,} may pay"
    least = f"{LEAST_SAVING:.0%} of a sample's time"
    return f"a larger batch than {sizes.enough:,} saves less than {least} a doubling"


def _table(model: ModelWhatIfs, unit: TimeUnit, *, plain: bool) -> Table:
    columns = (
        Column("what if", "left"),
        Column(f"bound {unit.name}"),
        Column(f"more {unit.name}"),
        Column("ratio", spare=1),
        Column("calls", spare=2),
        Column("most of it", "left", spare=3),
    )
    rows = [
        (
            what_if.name,
            unit.format(what_if.sequential_us),
            "-"
            if what_if.more_us is None
            else f"{what_if.more_us / unit.microseconds:+,.{unit.decimals}f}",
            "-" if what_if.ratio is None else f"{what_if.ratio:.2f}",
            f"{what_if.calls:,}",
            _most(what_if, unit),
        )
        for what_if in model.what_ifs
    ]
    return table(columns, rows, plain=plain)


def _most(what_if: WhatIf, unit: TimeUnit) -> str:
    """The layers that make the greatest differences, or why nothing can be compared."""
    if what_if.more_us is None:
        return f"lacks {plural(what_if.lacking, 'layer')}"
    return ", ".join(
        f"{shortened(difference.layers[0]) or difference.positions[0]} "
        f"({operators(difference.op)}) {_signed(difference.us - difference.bound_us, unit)}"
        for difference in what_if.layers[:LAYERS_SHOWN]
    )


def _signed(us: float, unit: TimeUnit) -> str:
    return f"{us / unit.microseconds:+,.{unit.decimals}f}"
