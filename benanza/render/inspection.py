"""The layers of a model, for people."""

from rich.console import Console, RenderableType
from rich.text import Text

from benanza.render.table import Column, html, printable, table
from benanza.render.units import amount, dimensions, plural
from benanza.results.inspection import Inspection

COLUMNS = (
    Column("#"),
    Column("layer", "left"),
    Column("operator", "left"),
    Column("kind", "left"),
    Column("output", "left"),
    Column("type", "left"),
    Column("FLOPs"),
    Column("moves"),
    Column("parameters"),
)


def print_inspection(console: Console, inspection: Inspection) -> None:
    """Prints the layers as a table, the totals, and what was skipped."""
    for part in _parts(inspection, plain=not console.is_terminal):
        console.print(part)


def inspection_html(inspection: Inspection) -> str:
    """The same for a notebook."""
    return html(_parts(inspection, plain=False))


def _parts(inspection: Inspection, *, plain: bool) -> list[RenderableType]:
    rows = [
        (
            str(layer.index),
            layer.name,
            f"{layer.domain}.{layer.op}" if layer.domain else layer.op,
            layer.kind,
            ", ".join(map(dimensions, layer.outputs)),
            layer.dtype,
            amount(layer.flops),
            amount(layer.bytes, "B"),
            amount(layer.parameters),
        )
        for layer in inspection.layers
    ]
    return [
        table(COLUMNS, rows, plain=plain),
        Text(_totals(inspection)),
        *(
            Text(printable(f"skipped: {layer.name} ({layer.op}): {layer.reason}"))
            for layer in inspection.skipped
        ),
    ]


def _totals(inspection: Inspection) -> str:
    layers = inspection.layers
    return printable(
        f"{inspection.name}, opset {inspection.opset}, batch {inspection.batch}: "
        f"{plural(len(layers), 'layer')}, {inspection.unique_layers:,} unique, "
        f"{plural(len(inspection.groups), 'group')}; "
        f"{amount(sum(layer.flops for layer in layers), 'FLOPs')}, "
        f"{amount(sum(layer.bytes for layer in layers), 'B')} moved, "
        f"{amount(sum(layer.parameters for layer in layers))} parameters"
    )
