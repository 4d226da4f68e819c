"""Lower bounds, what they lack, and what reuse saved, for people."""

from collections.abc import Sequence
from typing import get_args

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.systems import ID_SHOWN, SystemNames
from benanza.render.table import Column, html, listed, names, operators, printable, shortened, table
from benanza.render.units import TimeUnit, named_sizes, plural, time_unit
from benanza.results.bounds import Bounds, KnownBounds, LayerCounts, LowerBounds, ModelWithoutBound
from benanza_backbone.clickhouse.bounds import BoundVersion, MissingLayer, ModelBound
from benanza_schemas.layer import Precision

NONE_KNOWN = (
    "no bounds are known; say: benanza run MODEL, "
    "or benanza publish MODEL where its layers are measured already"
)

REASONS_SHOWN = 10
LAYERS_SHOWN = 3
MODELS_SHOWN = 10
"""Reasons for missing layers to list for one bound, layers to name for one reason, and models
without a bound to name; the JSON document has them all.
"""


def print_bounds(console: Console, bounds: Bounds) -> None:
    """Prints a table of bounds, and the layers that partial ones lack."""
    _print(console, _bounds(bounds.bounds, plain=not console.is_terminal))


def print_known_bounds(console: Console, known: KnownBounds) -> None:
    """Prints what `print_bounds` does, and which models have no bound yet."""
    lines = lines_without_bound(known)
    if known.bounds or not lines:
        print_bounds(console, known)
    for line in lines:
        console.print(Text(printable(line)))


def print_lower_bounds(console: Console, lower_bounds: LowerBounds) -> None:
    """Prints what `print_bounds` does, and what became of the layers."""
    _print(console, _lower_bounds(lower_bounds, plain=not console.is_terminal))


def bounds_html(bounds: Bounds) -> str:
    """Bounds for a notebook."""
    return html(_bounds(bounds.bounds, plain=False))


def known_bounds_html(known: KnownBounds) -> str:
    """The same, and which models have no bound yet."""
    lines = [Text(printable(line)) for line in lines_without_bound(known)]
    return html([*_bounds(known.bounds, plain=False), *lines])


def lower_bounds_html(lower_bounds: LowerBounds) -> str:
    """The result of a run for a notebook."""
    return html(_lower_bounds(lower_bounds, plain=False))


def _print(console: Console, parts: Sequence[RenderableType]) -> None:
    for part in parts:
        console.print(part)


def _lower_bounds(lower_bounds: LowerBounds, *, plain: bool) -> list[RenderableType]:
    parts = [*_bounds(lower_bounds.bounds, plain=plain), Text(_reuse(lower_bounds.layers))]
    if lower_bounds.layers.models > len({bound.model for bound in lower_bounds.bounds}):
        parts.append(Text(_sweep(lower_bounds.layers)))
    return parts


def _sweep(layers: LayerCounts) -> str:
    """How many layers the points of a sweep share."""
    times = layers.unique / max(1, layers.unique_of_model)
    return (
        f"{layers.models:,} points: one has up to {layers.unique_of_model:,} unique layers and "
        f"groups, all together {times:.1f} times as many; {layers.of_one_model:,} are in one point "
        "alone"
    )


def _reuse(layers: LayerCounts) -> str:
    saved = layers.total - layers.benchmarked - layers.split - layers.failed
    failed = f", {layers.failed:,} failed" if layers.failed else ""
    split = f"; {_split(layers.split)}" if layers.split else ""
    total = "1 layer" if layers.total == 1 else f"{layers.total:,} layers and groups"
    return (
        f"{total}, {layers.unique:,} unique: {layers.known:,} known, "
        f"{layers.benchmarked:,} benchmarked{failed}{split}; "
        f"reuse saved {plural(saved, 'benchmark')}"
    )


def _split(groups: int) -> str:
    if groups == 1:
        return "1 group counts layer by layer: nothing here runs it as one call"
    return f"{groups:,} groups count layer by layer: nothing here runs them as one call"


def _bounds(bounds: Sequence[ModelBound], *, plain: bool) -> list[RenderableType]:
    """A table for each system and precision, and then what is missing."""
    if not bounds:
        return [Text(NONE_KNOWN)]
    parts: list[RenderableType] = []
    with_dims = any(bound.dims for bound in bounds)
    systems = SystemNames(bounds)
    of_systems: dict[str, list[ModelBound]] = {}
    for bound in bounds:
        of_systems.setdefault(bound.system_id, []).append(bound)
    for some in of_systems.values():
        # Of one system everything is in one unit: a precision may be compared with another.
        unit = time_unit(bound.sequential_us for bound in some)
        for precision in get_args(Precision):
            if rows := [bound for bound in some if bound.precision == precision]:
                parts.append(_table(rows, unit, with_dims=with_dims, plain=plain))
                on = f"{systems.measured_on(rows[0])}{counted(rows[0])}"
                parts.append(Text(printable(on)))
    partial = [bound for bound in bounds if bound.partial]
    parts += [Text(line) for bound in partial for line in _missing(bound, systems)]
    parts += [Text(line) for bound in bounds for line in _copied(bound, systems)]
    parts += [Text(line) for bound in bounds for line in _above(bound, systems)]
    parts += [Text(line) for bound in bounds for line in _slowed(bound, systems)]
    parts += [Text(line) for bound in bounds for line in beaten_by(bound, systems)]
    if any(len(bound.coverage.missing) > LAYERS_SHOWN for bound in partial):
        parts.append(Text("--format json names all missing layers"))
    return parts


def lines_without_bound(known: KnownBounds) -> list[str]:
    """A line for each model that has no bound yet, and one for what waits for ingest."""
    lines = [
        f"{model_at(model)}: ingested, no bound yet; {_so_far(model)}"
        for model in known.without_bound[:MODELS_SHOWN]
    ]
    if (more := len(known.without_bound) - MODELS_SHOWN) > 0:
        lines.append(f"and {plural(more, 'model')} more; --format json names all")
    if waiting := known.waiting_for_ingest:
        verb = "waits" if waiting == 1 else "wait"
        lines.append(f"{plural(waiting, 'published model')} {verb} for ingest")
    if lines:
        lines.append("benanza status says what goes on; benanza run MODEL measures here")
    return lines


def _so_far(model: ModelWithoutBound) -> str:
    of = f"of {plural(model.layers, 'unique layer')} and groups"
    if not model.measured:
        return f"none {of} is measured"
    return ", ".join(
        f"{measured.layers:,} {of} measured at {measured.precision} on "
        f"{measured.system or measured.system_id[:ID_SHOWN]}"
        for measured in model.measured
    )


def model_at(model: ModelBound | BoundVersion | ModelWithoutBound) -> str:
    """The model with its batch size and its named dimensions."""
    return ", ".join(filter(None, (model.model, f"batch {model.batch}", named_sizes(model.dims))))


def counted(bound: ModelBound | BoundVersion) -> str:
    """How a bound is counted, where that isn't as usual."""
    accounting = "" if bound.accounting == "full" else f", accounting {bound.accounting}"
    return f"{accounting}{'' if bound.fusion else ', without fusion'}"


def _table(bounds: Sequence[ModelBound], unit: TimeUnit, *, with_dims: bool, plain: bool) -> Table:
    estimated = any(bound.attainable_us is not None for bound in bounds)
    limited = any(bound.limited_by for bound in bounds)
    columns = (
        names("model"),
        Column("batch"),
        *([Column("dims", "left")] if with_dims else []),
        Column("layers", spare=4),
        Column("unique", spare=5),
        Column(f"sequential {unit.name}"),
        Column(f"parallel {unit.name}", spare=1),
        *([Column(f"attainable {unit.name}", spare=2)] if estimated else []),
        Column(f"speed of light {unit.name}"),
        *([Column("held by", "left", spare=3)] if limited else []),
        Column("coverage", "left"),
    )
    rows = [
        (
            bound.model,
            str(bound.batch),
            *([named_sizes(bound.dims)] if with_dims else []),
            f"{bound.layers:,}",
            f"{bound.unique_layers:,}",
            _with_spread(unit, bound.sequential_us, bound.sequential_spread_us),
            _with_spread(unit, bound.parallel_us, bound.parallel_spread_us),
            *([_attainable(unit, bound)] if estimated else []),
            unit.format(bound.roofline_us),
            *([bound.limited_by or "-"] if limited else []),
            _coverage(bound),
        )
        for bound in bounds
    ]
    return table(columns, rows, plain=plain)


def _with_spread(unit: TimeUnit, value_us: float | None, spread_us: float | None) -> str:
    if value_us is None:
        return unit.format(None)
    return f"{unit.format(value_us)} ± {unit.format(spread_us)}"


def _attainable(unit: TimeUnit, bound: ModelBound) -> str:
    """The estimate, with how far off it may be where times of calls were estimated for it."""
    error_us = bound.attainable_error_us
    if bound.attainable_us is None or not error_us:
        return unit.format(bound.attainable_us)
    return f"{unit.format(bound.attainable_us)} ± {unit.format(error_us)}"


def _coverage(bound: ModelBound) -> str:
    measured, missing = bound.coverage.measured, len(bound.coverage.missing)
    counted = f"partial: {measured:,} of {measured + missing:,}" if bound.partial else "full"
    in_place, copied = bound.states.in_place, bound.states.copied
    states = [f"{in_place:,} in place"] * bool(in_place) + [f"{copied:,} copied"] * bool(copied)
    return f"{counted}; states: {', '.join(states)}" if states else counted


def _which(bound: ModelBound, systems: SystemNames) -> str:
    """The model at a precision, on which system where several are shown."""
    on = f", on {systems.name(bound)}" if systems.several else ""
    return f"{model_at(bound)}, {bound.precision}{on}"


def _missing(bound: ModelBound, systems: SystemNames) -> list[str]:
    """What a bound lacks."""
    missing = bound.coverage.missing
    what = f"{_which(bound, systems)}: the bound is partial; it lacks"
    match _by_reason(missing):
        case [only]:
            lines = [f"{what} {only}"]
        case several:
            lines = [f"{what} {plural(len(missing), 'layer')}:", *(f"  {line}" for line in several)]
    return [printable(line) for line in lines]


def _copied(bound: ModelBound, systems: SystemNames) -> list[str]:
    """Which states may be cheaper than the bound says."""
    states = bound.states
    if not states.copied:
        return []
    number = "1 state is" if states.copied == 1 else f"{states.copied:,} states are"
    line = (
        f"{_which(bound, systems)}: {number} copied, not in place: {'; '.join(states.why_copied)}"
    )
    return [printable(line)]


def _above(bound: ModelBound, systems: SystemNames) -> list[str]:
    """A speed of light above the bound means that one of the two is wrong."""
    sequential_us, light_us = bound.sequential_us, bound.roofline_us
    if bound.partial or sequential_us is None or (light_us or 0.0) <= sequential_us:
        return []
    line = (
        f"{_which(bound, systems)}: the speed of light is above the bound; rates that were "
        "measured while the machine was busy are too low"
    )
    return [printable(line)]


def _slowed(bound: ModelBound, systems: SystemNames) -> list[str]:
    """What may make a bound too high."""
    slowed = bound.slowed
    if not slowed.calls:
        return []
    which = listed(list(map(shortened, slowed.layers)), LAYERS_SHOWN)
    line = (
        f"{_which(bound, systems)}: {plural(slowed.calls, 'call')} "
        f"{'was' if slowed.calls == 1 else 'were'} timed while the device was slowed down "
        f"({', '.join(slowed.by)}), and may take less{which and f': {which}'}"
    )
    return [printable(line)]


def beaten_by(bound: ModelBound, systems: SystemNames) -> list[str]:
    """A line that calls the bound wrong, if a run of the model was faster."""
    if not bound.beaten_by:
        return []
    run = bound.beaten_by[0]
    line = (
        f"{_which(bound, systems)}: the bound is wrong: the model ran in {run.run_us:,.1f} µs "
        f"({run.run_as}); measure it again with --again, or report it"
    )
    return [printable(line)]


def _by_reason(missing: Sequence[MissingLayer]) -> list[str]:
    """A line for each reason, that of most layers first."""
    reasons: dict[str, list[MissingLayer]] = {}
    for layer in missing:
        reasons.setdefault(_cause(layer), []).append(layer)
    most_first = sorted(reasons.values(), key=len, reverse=True)
    shown, others = most_first[:REASONS_SHOWN], most_first[REASONS_SHOWN:]
    lines = [_lacking(layers) for layers in shown]
    if others:
        count = plural(sum(map(len, others)), "layer")
        lines.append(f"{count} for {plural(len(others), 'other reason')}")
    return lines


def _cause(layer: MissingLayer) -> str:
    """The reason without the operators, which are told beside it: layers may have it in common."""
    return layer.reason.replace(f" {layer.op}: ", ": ", 1)


def _lacking(layers: Sequence[MissingLayer]) -> str:
    """How many layers are missing, the first of them, and the reason that they share."""
    from benanza_analyzer.measurements import NOT_MEASURED

    reason = _cause(layers[0])
    count = plural(len(layers), "layer")
    # Which these are says nothing: whatever nobody has run there is among them.
    if reason == NOT_MEASURED:
        return f"{count}: {reason}"
    which = listed([named_layer(layer.name, layer.op) for layer in layers], LAYERS_SHOWN)
    return f"{count}, {which}: {reason}"


def named_layer(name: str, op: str) -> str:
    """A layer's name, if it has one, with its operator: `conv1 (Conv)`."""
    return f"{shortened(name)} ({operators(op)})" if name else operators(op)
