"""What is in the file of a trace, in little memory however large it is."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benanza.tracing.formats.reading import TraceFormat, read_trace
from benanza.tracing.formats.recorded import is_generated
from benanza.tracing.operators import TracedOperator, traced_operators
from benanza.tracing.results import TracedTotal, in_words
from benanza.tracing.spool import spooled
from benanza.tracing.timeline import Timeline, timeline
from benanza.tracing.translating.rules import RULES
from benanza_backbone.errors import BenanzaError
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision


class Recording(NamedTuple):
    """The operators of a trace that took time, those of the most first, and what else ran when.

    `device` is the name of the GPU, empty where none ran anything, and where the trace lacks it.
    `host_operators` are all of them by name, with how long the host was at work in them.
    `in_graphs_us` is how long GPUs ran CUDA graphs; `left_out` counts the events that can't be, by
    what is wrong with them.
    """

    file: Path
    format: TraceFormat
    device: str
    operators: tuple[TracedOperator, ...]
    host_operators: tuple[TracedTotal, ...]
    unattributed: tuple[TracedTotal, ...]
    on_gpus: tuple[TracedTotal, ...]
    host_calls: tuple[TracedTotal, ...]
    times: Timeline
    span_us: float
    in_graphs_us: float
    left_out: Mapping[str, int]

    @property
    def on_gpu(self) -> bool:
        """Whether any GPU did anything."""
        return self.times.devices > 0

    def us(self, operator: TracedOperator) -> float:
        """How long GPUs, or the host where there are none, were at work for it."""
        return operator.gpu_us if self.on_gpu else operator.host_us


def recording(file: Path, precision: Precision | None = None) -> Recording:
    """Reads a trace, whose tensors are of the type of a `precision` where it has shapes alone.
    Raises `BenanzaError` if it is none, or if nothing ran in it.
    """
    trace = read_trace(file, PRECISIONS[precision].element_type if precision else "")
    with spooled(trace.events) as spool:
        operators = traced_operators(spool, _is_whole)
        times = timeline(spool.timed())
        found = Recording(
            file,
            trace.format,
            next(iter(trace.devices), "") if times.devices else "",
            tuple(operators),
            _by_name(operators),
            tuple(spool.of_nobody()),
            tuple(spool.activities()),
            tuple(spool.launches()),
            times,
            spool.span_us(),
            spool.in_graphs_us(),
            trace.left_out,
        )
    timed = [operator for operator in operators if found.us(operator) > 0]
    if not timed and not found.on_gpus:
        why = f" ({in_words(found.left_out)})" if found.left_out else ""
        raise BenanzaError(f"{file} has no operator and no kernel{why}; record another trace")
    ordered = tuple(sorted(timed, key=lambda operator: -found.us(operator)))
    return found._replace(operators=ordered)


def _is_whole(name: str) -> bool:
    return name in RULES or is_generated(name)


def _by_name(operators: list[TracedOperator]) -> tuple[TracedTotal, ...]:
    times: dict[str, list[TracedOperator]] = defaultdict(list)
    for operator in operators:
        times[operator.name].append(operator)
    totals = (
        TracedTotal(
            kind="operator",
            name=name,
            count=sum(operator.calls for operator in alike),
            us=sum(operator.host_us for operator in alike),
        )
        for name, alike in times.items()
    )
    return tuple(sorted(totals, key=lambda total: -total.us))
