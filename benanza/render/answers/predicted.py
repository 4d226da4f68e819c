"""Bounds that are predicted for a GPU, for people."""

from collections.abc import Sequence
from typing import get_args

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.predicting.results import PredictedBound, PredictedBounds
from benanza.render.systems import ID_SHOWN
from benanza.render.table import Column, html, names, printable, table
from benanza.render.units import TimeUnit, named_sizes, time_unit
from benanza_schemas.layer import Precision


def print_predictions(console: Console, predictions: PredictedBounds) -> None:
    """Prints a table for each system that was learned from and precision, and what the bars are."""
    for part in _parts(predictions, plain=not console.is_terminal):
        console.print(part)


def predictions_html(predictions: PredictedBounds) -> str:
    """Predicted bounds for a notebook."""
    return html(_parts(predictions, plain=False))


def _parts(predictions: PredictedBounds, *, plain: bool) -> list[RenderableType]:
    unit = time_unit(bound.predicted_sequential_us for bound in predictions.predicted)
    systems = dict.fromkeys(bound.learned_from_id for bound in predictions.predicted)
    groups = (
        [
            bound
            for bound in predictions.predicted
            if (bound.learned_from_id, bound.precision) == (system_id, precision)
        ]
        for system_id in systems
        for precision in get_args(Precision)
    )
    parts: list[RenderableType] = []
    for rows in filter(None, groups):
        parts.append(_table(rows, unit, plain=plain))
        parts.append(Text(printable(_learned(rows[0], predictions))))
    bars = {bound.error_bar: bound.error_bar_learned for bound in predictions.predicted}
    parts += [
        Text(f"nine of ten lay between 1/{factor} and {factor} times the predicted: {learned}")
        for factor, learned in bars.items()
    ]
    reasons = dict.fromkeys(
        f"not predicted from {each.system or each.system_id[:ID_SHOWN]} at {each.precision}: "
        f"{each.reason}"
        for each in predictions.not_predicted
    )
    return [*parts, *(Text(printable(reason)) for reason in reasons)]


def _learned(bound: PredictedBound, predictions: PredictedBounds) -> str:
    accounting = "" if bound.accounting == "full" else f", accounting {bound.accounting}"
    fusion = "" if bound.fusion else ", without fusion"
    return (
        f"predicted for {predictions.on} ({predictions.figures}) at {bound.precision}, from what "
        f"was measured on {bound.learned_from} ({bound.learned_from_id[:ID_SHOWN]}) with "
        f"{bound.runtime}{accounting}{fusion}"
    )


def _table(bounds: Sequence[PredictedBound], unit: TimeUnit, *, plain: bool) -> Table:
    with_dims = any(bound.dims for bound in bounds)
    columns = (
        names("model"),
        Column("batch"),
        *([Column("dims", "left")] if with_dims else []),
        Column(f"predicted sequential {unit.name}"),
        Column(f"predicted parallel {unit.name}", spare=1),
        Column("coverage", "left"),
    )
    rows = [
        (
            bound.model,
            str(bound.batch),
            *([named_sizes(bound.dims)] if with_dims else []),
            f"{unit.format(bound.predicted_sequential_us)} ({unit.format(bound.low_us)} to "
            f"{unit.format(bound.high_us)})",
            unit.format(bound.predicted_parallel_us),
            f"partial: lacks {len(bound.missing):,}" if bound.partial else "full",
        )
        for bound in bounds
    ]
    return table(columns, rows, plain=plain)
