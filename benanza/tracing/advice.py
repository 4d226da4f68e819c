"""What would save time in a trace: the same remedies as for runs that were profiled here."""

from collections.abc import Iterator, Sequence

from benanza.profiling.remedies import remedies_of
from benanza.tracing.formats.recorded import GRAPH_LAUNCHES, is_generated
from benanza.tracing.recording import Recording
from benanza.tracing.results import TraceAdvice, TracedCalls
from benanza.tracing.translating.rules import COPIES
from benanza_analyzer.answers.kinds import InefficiencyKind

_FRAMEWORKS = {"PyTorch": "pytorch", "ONNX Runtime": "onnxruntime", "Nsight Systems": "pytorch"}
"""Whose remedies there are. Nsight Systems names PyTorch's operators, or none."""

_Lost = tuple[InefficiencyKind, str, float]
"""A kind of lost time, in which operators, and how much."""


def advice_about(found: Recording, calls: Sequence[TracedCalls]) -> tuple[TraceAdvice, ...]:
    """What is lost, most first, and what the framework has against it."""
    remedies = remedies_of(_FRAMEWORKS[found.format])
    advice = []
    for kind, op, us in _lost(found, calls):
        remedy = (
            remedies.remedy(
                kind, op.replace("::", "."), _configuration(found, kind), on_gpu=found.on_gpu
            )
            if remedies
            else None
        )
        advice.append(TraceAdvice(what=kind, op=op, saved_us=us, do=remedy.do if remedy else ""))
    return tuple(sorted(advice, key=lambda each: -each.saved_us))


def _lost(found: Recording, calls: Sequence[TracedCalls]) -> Iterator[_Lost]:
    times = found.times
    if times.synchronisation_us > 0:
        yield "synchronisation", "", times.synchronisation_us
    between_us = times.host_us + times.launching_us + times.between_us
    if between_us > 0:
        yield "between calls", "", between_us
    by_op: dict[tuple[InefficiencyKind, str], float] = {}
    for call in calls:
        if call.name in COPIES:
            key: tuple[InefficiencyKind, str] = "conversions and copies", call.name
            by_op[key] = by_op.get(key, 0.0) + call.us
        elif call.saved_us is not None and call.saved_us > 0:
            key = _how(call), call.name
            by_op[key] = by_op.get(key, 0.0) + call.saved_us
    for (kind, op), us in by_op.items():
        yield kind, op, us


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
