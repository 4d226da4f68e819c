"""What quantising models is worth, for people."""

from math import prod

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.quantised.worth import ProductWorth, QuantisationWorth, QuantisationWorths
from benanza.render.answers.explain import NONE_SUCH
from benanza.render.bounds import model_at
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, printable, table
from benanza.render.units import TimeUnit, dimensions, plural, time_unit

NAME_SHOWN = 24
"""Characters of a product's name: its end says the most, and a row is to fit a terminal."""

TOP = 20
"""So many kinds of products are shown; the JSON document has all."""


def print_quantisations(console: Console, worths: QuantisationWorths) -> None:
    """Prints a table for each bound and type of weights, with alike products in one row."""
    for part in _parts(worths, plain=not console.is_terminal):
        console.print(part)


def quantisations_html(worths: QuantisationWorths) -> str:
    """The same for a notebook."""
    return html(_parts(worths, plain=False))


def _parts(worths: QuantisationWorths, *, plain: bool) -> list[RenderableType]:
    if not worths.worths:
        return [Text(NONE_SUCH)]
    systems = SystemNames(worth.bound for worth in worths.worths)
    parts: list[RenderableType] = []
    for worth in worths.worths:
        unit = time_unit([worth.bound.sequential_us, worth.other.sequential_us])
        title = f"{model_at(worth.bound)}, {systems.measured_on(worth.bound)}"
        parts.append(Text(printable(title)))
        parts.append(Text(printable(_saving(worth, unit))))
        kinds = _kinds(worth)
        if kinds:
            parts.append(_table(worth, kinds[:TOP], unit, plain=plain))
        if len(kinds) > TOP:
            products = sum(map(_count, kinds[TOP:]))
            parts.append(Text(f"and {plural(products, 'product')}; --format json has them all"))
        if worth.elsewhere_us is not None:
            parts.append(Text(_elsewhere(worth.elsewhere_us, unit)))
    parts += [Text(printable(f"not known yet; say: {command}")) for command in worths.to_run]
    return parts


def _saving(worth: QuantisationWorth, unit: TimeUnit) -> str:
    times = (worth.bound.sequential_us, worth.other.sequential_us)
    now, then = (f"{unit.format(us)} {unit.name}" for us in times)
    if worth.saved_us is None:
        return f"in {worth.quantised}: a bound is partial; benanza bounds says what it lacks"
    share = "" if worth.share is None else f" ({abs(worth.share):.1%})"
    verb = "saves" if worth.saved_us >= 0 else "costs"
    saved = f"{verb} {unit.format(abs(worth.saved_us))} {unit.name}{share}"
    return f"{now} as written, {then} in {worth.quantised}: {saved}"


def _elsewhere(us: float, unit: TimeUnit) -> str:
    verb = "saves" if us >= 0 else "takes"
    more = "" if us >= 0 else " more"
    return f"what is not quantised {verb} {unit.format(abs(us))} {unit.name}{more}"


def _kinds(worth: QuantisationWorth) -> list[list[ProductWorth]]:
    """Products of the same sizes and times together, those that save the most first."""
    alike: dict[object, list[ProductWorth]] = {}
    for product in worth.products:
        times = round(product.us, 6), round(product.quantised_us, 6)
        key = product.op, product.data, product.weights, len(product.layers), times
        alike.setdefault(key, []).append(product)
    return sorted(alike.values(), key=lambda kind: -sum(each.saved_us for each in kind))


def _count(kind: list[ProductWorth]) -> int:
    return sum(len(product.layers) for product in kind)


def _table(
    worth: QuantisationWorth, kinds: list[list[ProductWorth]], unit: TimeUnit, *, plain: bool
) -> Table:
    columns = (
        Column("first product", "left"),
        Column("times"),
        Column("sizes", "left", spare=1),
        Column(f"{unit.name} now"),
        Column(f"in {worth.quantised}"),
        Column("saves"),
    )
    rows = [
        (
            _shown(kind[0].layers[0]),
            f"{_count(kind):,}",
            _sizes(kind[0]),
            unit.format(sum(product.us for product in kind)),
            unit.format(sum(product.quantised_us for product in kind)),
            unit.format(sum(product.saved_us for product in kind)),
        )
        for kind in kinds
    ]
    return table(columns, rows, plain=plain)


def _shown(name: str) -> str:
    text = printable(name)
    return text if len(text) <= NAME_SHOWN else f"…{text[1 - NAME_SHOWN :]}"


def _sizes(product: ProductWorth) -> str:
    """Rows, sums and columns of a product of matrices: `8×4096×14336`; the filter of others."""
    if product.op == "Conv" or not product.data or len(product.weights) != 2:
        return dimensions(product.weights) if product.weights else "-"
    # Data that the product transposes have their sums along the first axis.
    depth = product.data[-1] if product.data[-1] in product.weights else product.data[0]
    rows, columns = prod(product.data) // depth, prod(product.weights) // depth
    return dimensions((rows, depth, columns))
