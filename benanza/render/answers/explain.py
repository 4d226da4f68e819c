"""Where the time of bounds goes, for people."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.bounds import beaten_by, counted, model_at
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, names, operators, printable, shortened, table
from benanza.render.units import TimeUnit, amount, plural, time_unit
from benanza.results.explain import ExplainedCall, Explanation, Explanations
from benanza.results.inspect import LayerTime

NONE_SUCH = "no bound is known of this kind; benanza bounds shows those that are"

TOP = 20
"""So many kinds of calls are shown unless another number is asked for."""

Alike = Sequence[ExplainedCall]
"""Calls of one layer that run in one way."""


def print_explanations(console: Console, explanations: Explanations, top: int = TOP) -> None:
    """Prints a table for each bound, with calls of the same kind in one row, up to `top` rows."""
    for part in _parts(explanations, top, plain=not console.is_terminal):
        console.print(part)


def explanations_html(explanations: Explanations) -> str:
    """Explanations for a notebook."""
    return html(_parts(explanations, TOP, plain=False))


def _parts(explanations: Explanations, top: int, *, plain: bool) -> list[RenderableType]:
    if not explanations.explanations:
        return [Text(NONE_SUCH)]
    systems = SystemNames(explanation.bound for explanation in explanations.explanations)
    parts: list[RenderableType] = []
    for explanation in explanations.explanations:
        kinds = _kinds(explanation.calls)
        unit = time_unit([explanation.bound.sequential_us])
        parts.append(Text(printable(_title(explanation, systems, unit))))
        parts += [Text(line) for line in beaten_by(explanation.bound, systems)]
        if kinds:
            parts.append(_table(kinds[:top], unit, plain=plain))
        if len(kinds) > top:
            parts.append(Text(_rest(kinds[top:])))
        parts += [Text(line) for line in _memory(explanation.calls)]
    return parts


def _kinds(calls: Sequence[ExplainedCall]) -> list[Alike]:
    """Calls of the same layer with the same variant together, those of the longest time first."""
    alike: dict[tuple[str, ...], list[ExplainedCall]] = {}
    for call in calls:
        variant = call.library, call.algorithm, call.layout
        # Views are told apart by what they are.
        alike.setdefault((call.fingerprint or call.op, *variant), []).append(call)
    return sorted(alike.values(), key=_share, reverse=True)


def _share(calls: Alike) -> float:
    return sum(call.share for call in calls)


def _title(explanation: Explanation, systems: SystemNames, unit: TimeUnit) -> str:
    bound = explanation.bound
    calls = sum(call.us > 0 for call in explanation.calls)
    time = f"{unit.format(bound.sequential_us)} {unit.name}"
    partial = f", without {plural(len(bound.coverage.missing), 'missing layer')}"
    return (
        f"{model_at(bound)}: {time} in {plural(calls, 'call')}{partial if bound.partial else ''}, "
        f"{systems.measured_on(bound)}{counted(bound)}"
    )


def _table(kinds: Sequence[Alike], unit: TimeUnit, *, plain: bool) -> Table:
    converts = any(call.conversion_us for calls in kinds for call in calls)
    aside = not all(call.critical for calls in kinds for call in calls)
    known = all(call.alive_bytes is not None for calls in kinds for call in calls)
    columns = (
        names("operators"),
        names("first layer"),
        Column("calls"),
        *([Column("critical", spare=5)] if aside else []),
        Column(f"each {unit.name}", spare=1),
        Column(f"together {unit.name}"),
        *([Column(f"conversions {unit.name}", spare=4)] if converts else []),
        Column("share"),
        *([Column("alive", spare=2)] if known else []),
        Column("reaches", "left", spare=3),
        Column("algorithm", "left", spare=6),
    )
    rows = [
        (
            operators(calls[0].op),
            min(calls, key=lambda call: call.positions).layers[0],
            f"{len(calls):,}",
            *([f"{sum(call.critical for call in calls):,}"] if aside else []),
            unit.format(calls[0].us),
            unit.format(sum(call.us for call in calls)),
            *([unit.format(sum(call.conversion_us for call in calls))] if converts else []),
            f"{_share(calls):.1%}",
            *([amount(max(call.alive_bytes or 0 for call in calls), "B")] if known else []),
            _reached(calls[0]),
            _variant(calls[0]),
        )
        for calls in kinds
    ]
    return table(columns, rows, plain=plain)


def _reached(call: ExplainedCall) -> str:
    """The call's rate, and how near it is to its speed of light, with the ceiling that holds that:
    `165 GFLOP/s, 72% of light: compute`. A latency is no matter of rates.
    """
    if not call.us:
        return "-"
    if call.limited_by == "latency" and call.roofline_us is not None:
        return f"{call.roofline_us / call.us:.0%} of light: latency"
    work, unit = (call.flops, "FLOP/s") if call.limited_by == "compute" else (call.bytes, "B/s")
    rate = amount(work / call.us * 1e6, unit)
    if call.roofline_us is None:
        return rate
    return f"{rate}, {call.roofline_us / call.us:.0%} of light: {call.limited_by}"


def _variant(call: ExplainedCall) -> str:
    return variant(call) if call.library else "a view"


def variant(of: ExplainedCall | LayerTime) -> str:
    """The fastest variant, of a call or a layer that has one: `cudnn-graph: engine 39, NHWC`."""
    layout = f", {of.layout}" if of.layout else ""
    return f"{of.library}: {of.algorithm}{layout}"


def _memory(calls: Sequence[ExplainedCall]) -> list[str]:
    """A line about what is held in memory, if that is known."""
    known = [(call.alive_bytes, call) for call in calls if call.alive_bytes is not None]
    if not known:
        return []
    most, at = max(known, key=lambda held: held[0])
    constants = sum(call.constant_bytes or 0 for call in calls)
    return [
        f"at most {amount(most, 'B')} of values alive, in call {at.order + 1:,} of "
        f"{len(calls):,} ({operators(at.op)}, {shortened(at.layers[0])}), beside "
        f"{amount(constants, 'B')} of constants"
    ]


def _rest(kinds: Sequence[Alike]) -> str:
    calls = sum(map(len, kinds))
    return (
        f"and {plural(calls, 'call')} of {plural(len(kinds), 'kind')}, "
        f"{sum(map(_share, kinds)):.1%} of the time; --limit shows more, --format json all"
    )
