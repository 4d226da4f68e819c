"""Traces of other profilers beside known layers, for people."""

from collections import defaultdict
from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.table import (
    NOTEBOOK_WIDTH,
    Column,
    fitted,
    html,
    names,
    printable,
    prose,
)
from benanza.render.units import TimeUnit, dimensions, plural, time_unit
from benanza.tracing.results import (
    TraceAnswer,
    TraceComparison,
    TracedCalls,
    TracedModel,
    TracedTotal,
    in_words,
)

TOP = 15
"""So many rows of each table are shown unless another number is asked for."""

_INPUTS_SHOWN = 3

_IDLE = {
    "between calls": "idle between calls, at most",
    "synchronisation": "idle after copies to the host",
}

_GRAPHS = (
    "a trace has no operators within them, so no layers; to see those, record without graphs "
    "(vLLM: --enforce-eager; SGLang: --disable-cuda-graph; torch.compile: without "
    'mode="reduce-overhead")'
)

_NO_SYSTEM = "none of its layers was measured on such a device"


def print_trace(console: Console, answer: TraceAnswer, top: int = TOP) -> None:
    """Prints where the time of a trace went, its operators beside their bounds, and advice."""
    for part in _parts(answer, top, _width(console)):
        console.print(part)


def print_comparison(console: Console, compared: TraceComparison, top: int = TOP) -> None:
    """Prints in which operators two traces differ most."""
    for part in _compared(compared, top, _width(console)):
        console.print(part)


def trace_html(answer: TraceAnswer) -> str:
    """A trace for a notebook."""
    return html(_parts(answer, TOP, NOTEBOOK_WIDTH))


def comparison_of_traces_html(compared: TraceComparison) -> str:
    """Two traces for a notebook."""
    return html(_compared(compared, TOP, NOTEBOOK_WIDTH))


def _width(console: Console) -> int | None:
    return console.width if console.is_terminal else None


def _parts(answer: TraceAnswer, top: int, width: int | None) -> list[RenderableType]:
    unit = time_unit(time for call in answer.calls[:top] for time in (call.us, call.bound_us))
    parts: list[RenderableType] = [Text(printable(line)) for line in _title(answer, unit)]
    parts.append(_by_name(answer, unit, top, width))
    parts.append(_operators(answer.calls[:top], unit, width))
    if len(answer.calls) > top:
        parts.append(Text(f"and {plural(len(answer.calls) - top, 'operator')} of less time"))
    if any(call.reason for call in answer.calls):
        parts.append(_reasons(answer.calls, unit, top, width))
    others = [total for total in answer.on_gpus if total.kind != "kernel"]
    for title, totals in (
        ("collectives, copies and fills", others),
        ("in CUDA graphs, and of no operator of the trace", answer.unattributed),
        ("calls of the GPU's runtime on the host", answer.host_calls),
        ("time of the host by operator", answer.host_operators if answer.on_gpu else ()),
    ):
        if totals:
            parts += [Text(title), _totals(totals[:top], unit, width)]
    if answer.advice:
        parts += [Text("what would save time"), _advice(answer, unit, top, width)]
    return parts


def _title(answer: TraceAnswer, unit: TimeUnit) -> list[str]:
    where = answer.device or ("a GPU" if answer.on_gpu else "the CPU")
    times = answer.times
    lines = [
        f"{answer.file}: {answer.format}, on {where}: {unit.format(times.span_us)} {unit.name} "
        f"from the first event to the last, {unit.format(answer.us)} in operators and kernels"
    ]
    if answer.on_gpu:
        gpus = "" if times.devices == 1 else f" of {plural(times.devices, 'GPU')}"
        lines.append(
            f"busy{gpus}: {unit.format(times.busy_us)} {unit.name}, of which collectives alone "
            f"{unit.format(times.exposed_collectives_us)}; idle between calls: "
            f"{unit.format(times.between_calls_us)} (waiting for the host "
            f"{unit.format(times.host_us)}, launching {unit.format(times.launching_us)}, already "
            f"launched {unit.format(times.between_us)}); idle after copies to the host: "
            f"{unit.format(times.synchronisation_us)}"
        )
        if times.in_graphs_us:
            lines.append(
                f"in CUDA graphs: {unit.format(times.in_graphs_us)} {unit.name}: {_GRAPHS}"
            )
    if answer.left_out:
        lines.append(f"left out: {in_words(answer.left_out)}")
    measured = answer.matched_us("measured") / answer.us if answer.us else 0.0
    waits = answer.matched_us("waits") / answer.us if answer.us else 0.0
    known = f"of {measured:.0%} of that time the layers are measured, of {waits:.0%} they wait"
    lines.append(
        f"{known}; bounds by {answer.system}" if answer.system else f"{known}: {_NO_SYSTEM}"
    )
    if answer.model is not None:
        lines.append(_model(answer.model, unit))
    if answer.published:
        lines.append(f"published as {answer.published}")
    return lines


def _model(model: TracedModel, unit: TimeUnit) -> str:
    of_model = f"{model.model}, batch {model.batch}: {model.found:,} of its {model.layers:,} layers"
    if model.executions is None:
        return f"{of_model} are in the trace"
    runs = f"{of_model} are in the trace, which runs it {model.executions:g} times"
    if model.bound_us is None:
        return f"{runs}; no full bound of it is known there at {model.precision}"
    bound = f"{unit.format(model.bound_us)} {unit.name} with fusion at {model.precision}"
    return f"{runs}; its bound is {bound}"


def _by_name(answer: TraceAnswer, unit: TimeUnit, top: int, width: int | None) -> Table:
    """The operators by name, and kernels that `torch.compile` wrote by what they fuse. What a bound
    saves is of those that have one.
    """
    of_name: dict[str, list[TracedCalls]] = defaultdict(list)
    for call in answer.calls:
        of_name["+".join(call.fused) or call.name].append(call)
    columns = (
        names("operators"),
        Column("calls", spare=3),
        Column(f"takes {unit.name}"),
        Column("of all", spare=1),
        Column("with a bound", spare=2),
        Column(f"bound {unit.name}"),
        Column(f"saved {unit.name}"),
    )
    rows = []
    for name, calls in sorted(of_name.items(), key=_longest_first)[:top]:
        us = sum(call.us for call in calls)
        bounded = [call for call in calls if call.bound_us is not None]
        rows.append(
            (
                name,
                f"{sum(call.calls for call in calls):,}",
                unit.format(us),
                f"{us / answer.us:.1%}",
                f"{sum(call.us for call in bounded) / us:.0%}",
                unit.format(sum(call.bound_us or 0.0 for call in bounded) if bounded else None),
                unit.format(sum(call.saved_us or 0.0 for call in bounded) if bounded else None),
            )
        )
    return fitted(columns, rows, width)


def _longest_first(named: tuple[str, Sequence[TracedCalls]]) -> float:
    return -sum(call.us for call in named[1])


def _operators(calls: Sequence[TracedCalls], unit: TimeUnit, width: int | None) -> Table:
    needless = 0 if any(call.bound_us is not None for call in calls) else 7
    columns = (
        names("operator"),
        Column("inputs", "left", spare=1),
        Column("precision", "left", spare=6),
        Column("layers", "left", spare=5),
        Column("calls", spare=4),
        Column(f"takes {unit.name}"),
        Column("of all", spare=3),
        Column(f"bound {unit.name}", spare=needless),
        Column(f"speed of light {unit.name}", spare=2),
        Column(f"saved {unit.name}", spare=needless),
    )
    rows = [
        (
            call.name,
            _inputs(call.inputs),
            call.precision if call.op or call.fused else "-",
            call.op or "-",
            f"{call.calls:,}",
            unit.format(call.us),
            f"{call.share:.1%}",
            unit.format(call.bound_us),
            unit.format(call.light_us),
            unit.format(call.saved_us),
        )
        for call in calls
    ]
    return fitted(columns, rows, width)


def _reasons(calls: Sequence[TracedCalls], unit: TimeUnit, top: int, width: int | None) -> Table:
    """Why operators have no bound, by what they take."""
    of_reason: dict[str, list[TracedCalls]] = defaultdict(list)
    for call in calls:
        if call.reason:
            of_reason[call.reason].append(call)
    columns = (Column(f"takes {unit.name}"), Column("calls"), prose("why no bound"))
    rows = [
        (
            unit.format(sum(call.us for call in alike)),
            f"{sum(call.calls for call in alike):,}",
            reason,
        )
        for reason, alike in sorted(of_reason.items(), key=_longest_first)[:top]
    ]
    return fitted(columns, rows, width)


def _inputs(shapes: Sequence[tuple[int, ...]]) -> str:
    shown = [dimensions(shape) for shape in shapes if shape]
    more = f" and {len(shown) - _INPUTS_SHOWN} more" if len(shown) > _INPUTS_SHOWN else ""
    return ", ".join(shown[:_INPUTS_SHOWN]) + more or "-"


def _totals(totals: Sequence[TracedTotal], unit: TimeUnit, width: int | None) -> Table:
    columns = (
        Column("what", "left", spare=2),
        names("name"),
        Column("times", spare=1),
        Column(f"takes {unit.name}"),
    )
    rows = [(t.kind, t.name, f"{t.count:,}", unit.format(t.us)) for t in totals]
    return fitted(columns, rows, width)


def _advice(answer: TraceAnswer, unit: TimeUnit, top: int, width: int | None) -> Table:
    columns = (
        Column(f"saves {unit.name}"),
        Column("where", "left"),
        names("operators"),
        prose("what to do"),
    )
    rows = [
        (
            unit.format(advice.saved_us),
            _IDLE.get(advice.what, advice.what),
            advice.op or "-",
            advice.do or "-",
        )
        for advice in answer.advice[:top]
    ]
    return fitted(columns, rows, width)


def _compared(compared: TraceComparison, top: int, width: int | None) -> list[RenderableType]:
    first, second = compared.trace, compared.other
    unit = time_unit([first.us, second.us])
    parts: list[RenderableType] = [
        Text(printable(line)) for answer in (first, second) for line in _title(answer, unit)
    ]
    columns = (
        names("operator"),
        Column("inputs", "left"),
        Column("calls"),
        Column("calls then"),
        Column(f"takes {unit.name}"),
        Column(f"then {unit.name}"),
        Column(f"difference {unit.name}"),
    )
    rows = [
        (
            each.name,
            _inputs(each.inputs),
            f"{each.calls:,}",
            f"{each.other_calls:,}",
            unit.format(each.us),
            unit.format(each.other_us),
            unit.format(each.other_us - each.us),
        )
        for each in compared.differences[:top]
    ]
    return [*parts, fitted(columns, rows, width)]
