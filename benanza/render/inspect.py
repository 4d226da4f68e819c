"""The layers of a model, and its weights, for people."""

import re
from collections.abc import Sequence
from math import prod

from rich.console import Console, RenderableType
from rich.text import Text

from benanza.render.bounds import LAYERS_SHOWN, REASONS_SHOWN, named_layer
from benanza.render.table import Column, html, listed, names, printable, shortened, table
from benanza.render.units import amount, dimensions, plural
from benanza.results.inspect import (
    InspectedLayer,
    InspectedWeight,
    InspectedWeights,
    Inspection,
    SkippedLayer,
)

COLUMNS = (
    Column("#", spare=5),
    names("layer"),
    names("operator"),
    Column("kind", "left", spare=2),
    Column("output", "left", spare=1),
    Column("type", "left", spare=3),
    Column("FLOPs"),
    Column("moves"),
    Column("parameters", spare=4),
)

WEIGHTS = (
    names("weight"),
    Column("type", "left", spare=2),
    Column("shape", "left"),
    Column("bytes", spare=4),
    Column("min"),
    Column("max"),
    Column("mean"),
    Column("deviation"),
    Column("zeros", spare=1),
    Column("first values", "left", spare=5),
    Column("read by", "left", spare=3),
)

_QUOTED = re.compile(r"'[^']*'")


def print_inspection(console: Console, inspection: Inspection) -> None:
    """Prints the layers as a table, the totals, and what was skipped."""
    for part in _parts(inspection, plain=not console.is_terminal):
        console.print(part)


def inspection_html(inspection: Inspection) -> str:
    """The same for a notebook."""
    return html(_parts(inspection, plain=False))


def print_weights(console: Console, found: InspectedWeights) -> None:
    """Prints the weights as a table, the totals, and those whose values can't be had."""
    for part in _weights(found, plain=not console.is_terminal):
        console.print(part)


def weights_html(found: InspectedWeights) -> str:
    """The same for a notebook."""
    return html(_weights(found, plain=False))


def _weights(found: InspectedWeights, *, plain: bool) -> list[RenderableType]:
    rows = [
        (
            weight.name,
            weight.dtype,
            dimensions(weight.shape),
            amount(weight.bytes, "B"),
            _number(weight.min),
            _number(weight.max),
            _number(weight.mean),
            _number(weight.std),
            "-" if weight.zero_share is None else f"{weight.zero_share:.1%}",
            ", ".join(map(_number, weight.values)),
            listed([shortened(name) for name in weight.read_by], 1),
        )
        for weight in found.weights
    ]
    elements = sum(prod(weight.shape) for weight in found.weights)
    total = f"{plural(len(rows), 'weight')}, {amount(elements)} values"
    total += f", {amount(sum(weight.bytes for weight in found.weights), 'B')}"
    return [
        *([table(WEIGHTS, rows, plain=plain)] if rows else []),
        Text(printable(f"{found.name}: {total}")),
        *(
            Text(printable(f"not finite: {weight.not_finite:,} values of {weight.name}"))
            for weight in found.weights
            if weight.not_finite
        ),
        *map(Text, _without_values(found)),
    ]


def _number(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.3g}"


def _without_values(found: InspectedWeights) -> list[str]:
    """A line for each reason why values can't be had."""
    by_reason: dict[str, list[InspectedWeight]] = {}
    for weight in found.weights:
        if weight.reason:
            by_reason.setdefault(weight.reason, []).append(weight)
    return [
        printable(
            f"no values: {plural(len(of), 'weight')}, "
            f"{listed([shortened(weight.name) for weight in of], LAYERS_SHOWN)}: {reason}"
        )
        for reason, of in by_reason.items()
    ]


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
        *(Text(printable(f"assumed: {note}")) for note in inspection.notes),
        *map(Text, _skipped(inspection)),
        *map(Text, _free(inspection)),
    ]


def _skipped(inspection: Inspection) -> list[str]:
    """A line for each cause, that of most layers first."""
    by_cause: dict[str, list[SkippedLayer]] = {}
    for layer in inspection.skipped:
        by_cause.setdefault(_cause(layer), []).append(layer)
    most_first = sorted(by_cause.values(), key=len, reverse=True)
    shown, others = most_first[:REASONS_SHOWN], most_first[REASONS_SHOWN:]
    lines = [_line("skipped", layers) for layers in shown]
    if others:
        count = plural(sum(map(len, others)), "layer")
        causes = plural(len(others), "other reason")
        lines.append(f"skipped: {count} for {causes}; --format json has them all")
    return lines


def _free(inspection: Inspection) -> list[str]:
    """A line for the layers whose results have no elements, if there are any."""
    layers = [layer for layer in inspection.layers if layer.kind == "view" and layer.reason]
    return [_line("free", layers)] if layers else []


def _cause(layer: SkippedLayer) -> str:
    """Reasons end with it, behind what they say of the layer: `… has shape [1, length]; give --dim
    length=N`. What is named in it, such as the value that has to be known, may differ.
    """
    return _QUOTED.sub("", layer.reason.rpartition("; ")[2])


def _line(label: str, layers: Sequence[SkippedLayer | InspectedLayer]) -> str:
    """How many layers there are, the first of them, and the reason of the first."""
    count = f"{plural(len(layers), 'layer')}, " if len(layers) > 1 else ""
    which = listed([named_layer(layer.name, layer.op) for layer in layers], LAYERS_SHOWN)
    return printable(f"{label}: {count}{which}: {layers[0].reason}")


def _totals(inspection: Inspection) -> str:
    layers = inspection.layers
    return printable(
        f"{inspection.name}, opset {inspection.opset}, batch {inspection.batch}: "
        f"{plural(len(layers), 'layer')}, {inspection.unique_layers:,} unique, "
        f"{plural(len(inspection.groups), 'group')}; "
        f"{amount(sum(layer.flops for layer in layers), 'FLOPs')}, "
        f"{amount(sum(layer.bytes for layer in layers), 'B')} moved, "
        f"{amount(inspection.parameters)} parameters"
    )
