"""What would save time in a trace: the same remedies as for runs that were profiled here."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benanza.profiling.remedies import remedies_of
from benanza.tracing.formats.recorded import GRAPH_LAUNCHES, is_generated
from benanza.tracing.recording import Recording
from benanza.tracing.results import TraceAdvice, TracedCalls
from benanza.tracing.translating.rules import COPIES
from benanza_analyzer.answers.kinds import InefficiencyKind

MAP_AXES = 4

_FRAMEWORKS = {"PyTorch": "pytorch", "ONNX Runtime": "onnxruntime", "Nsight Systems": "pytorch"}
"""Whose remedies there are. Nsight Systems names PyTorch's operators, or none."""


class _Lost(NamedTuple):
    """A kind of lost time, in which operators, and how much; `searched` is what remedies know the
    operator by, empty where they know none.
    """

    kind: InefficiencyKind
    op: str
    us: float
    searched: str = ""


def advice_about(found: Recording, calls: Sequence[TracedCalls]) -> tuple[TraceAdvice, ...]:
    """What is lost, most first, and what the framework has against it."""
    remedies = remedies_of(_FRAMEWORKS[found.format])
    advice = []
    for lost in _lost(found, calls):
        remedy = None
        if remedies and not is_generated(lost.op):
            configuration = _configuration(found, lost.kind)
            remedy = remedies.remedy(lost.kind, lost.searched, configuration, on_gpu=found.on_gpu)
        do = remedy.do if remedy else ""
        advice.append(TraceAdvice(what=lost.kind, op=lost.op, saved_us=lost.us, do=do))
    return tuple(sorted(advice, key=lambda each: -each.saved_us))


def _lost(found: Recording, calls: Sequence[TracedCalls]) -> Iterator[_Lost]:
    times = found.times
    if times.synchronisation_us > 0:
        yield _Lost("synchronisation", "", times.synchronisation_us)
    between_us = times.host_us + times.launching_us + times.between_us
    if between_us > 0:
        yield _Lost("between calls", "", between_us)
    by_op: dict[tuple[InefficiencyKind, str, str], float] = {}
    for call in calls:
        if call.name in COPIES:
            key: tuple[InefficiencyKind, str, str]
            key = "conversions and copies", call.name, _searched(call)
            by_op[key] = by_op.get(key, 0.0) + call.us
        elif call.saved_us is not None and call.saved_us > 0:
            key = _how(call), call.name, _searched(call)
            by_op[key] = by_op.get(key, 0.0) + call.saved_us
    for (kind, op, searched), us in by_op.items():
        yield _Lost(kind, op, us, searched)


def _searched(call: TracedCalls) -> str:
    """The operator as PyTorch's exporter names it, which tells convolutions by their axes."""
    if call.name == "aten::convolution" and call.inputs and len(call.inputs[0]) == MAP_AXES:
        return "aten.conv2d"
    return call.name.replace("::", ".")


def _how(call: TracedCalls) -> InefficiencyKind:
    """Whether an operator starts more than one kernel for each layer that it is."""
    kernels = sum(kernel.count for kernel in call.kernels if kernel.kind == "kernel")
    return "more calls" if kernels > call.calls * (call.op.count("+") + 1) else "slower call"


def _configuration(found: Recording, kind: InefficiencyKind) -> str:
    """What was set in PyTorch, by its traces. What is compiled need not be captured: then time
    passes between calls as in eager mode.
    """
    captured = any(each.name.startswith(GRAPH_LAUNCHES) for each in found.host_calls)
    compiled = any(is_generated(each.name) for each in found.on_gpus)
    if compiled and (captured or kind != "between calls"):
        return "compiled"
    return "CUDA graph" if captured else "eager"
