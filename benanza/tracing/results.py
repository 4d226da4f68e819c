"""What a trace that another profiler recorded shows, beside known layers."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from benanza.results.result import Result
from benanza_analyzer.answers.kinds import InefficiencyKind
from benanza_backbone.document import Document
from benanza_schemas.layer import Precision
from benanza_schemas.operators.facts import OperatorKind

Match = Literal["measured", "waits", "failed", "no layer"]
"""Whether all layers of an operator have times on the system; some weren't tried; some were tried
and have none; or it is no layer.
"""


class TracedTotal(Document, frozen=True, kw_only=True):
    """What was done under one name: how often, and how long together. `kind` is what a GPU did
    (`kernel`, `collective`, `copy`, `fill`, `graph`), `call` for calls of its runtime on the host,
    and `operator` for operators of the framework, whose time is what the host worked in them.
    """

    kind: str
    name: str
    count: int
    us: float


class TracedCalls(Document, frozen=True, kw_only=True):
    """Equal calls of one operator of the framework, and the layers that it is.

    `us` is how long the GPUs were at work for all of them, or the host where the trace has no GPU;
    `share` its part of all such time; `host_us` how long the host was at work in them. `inputs` are
    shapes, empty for what is no tensor. `op` are ONNX's operators that it is, joined by `+`, and
    `kind` that of the one that costs most. `bound_us` are the best times on the system of as many
    calls, `light_us` what its measured bandwidth and rate of operations allow; each `None` where
    that isn't known. `reason` says why there is no bound. `fingerprints`
    are those of its layers and of groups of all of them, in each version of ONNX that was looked
    for. `kernels` are what ran on GPUs. `fused` are the framework's operators in a kernel that
    `torch.compile` wrote, as far as its name says; its `light_us` is that of reading and writing
    its tensors once, if it needs all of them.
    """

    name: str
    op: str
    kind: OperatorKind
    inputs: tuple[tuple[int, ...], ...]
    precision: Precision
    fingerprints: tuple[str, ...]
    calls: int
    us: float
    share: float
    host_us: float
    match: Match
    bound_us: float | None
    light_us: float | None
    reason: str
    kernels: tuple[TracedTotal, ...]
    fused: tuple[str, ...] = ()

    @property
    def saved_us(self) -> float | None:
        """How much less the bound takes, `None` where there is none; negative if it takes more."""
        return None if self.bound_us is None else self.us - self.bound_us


class TraceTimes(Document, frozen=True, kw_only=True):
    """Where the time of a trace went, in microseconds.

    `span_us` is from its first event to its last. The others are those of `devices` GPUs together,
    from each one's first activity to its last: `busy_us` when anything ran,
    `exposed_collectives_us` when nothing but collectives did; and when nothing ran,
    `synchronisation_us` after copies to the host, `host_us` until the host began to start what ran
    next, `launching_us` from then on, `between_us` where that had been started before.
    `in_graphs_us` is of what ran in CUDA graphs. All are 0 where the trace has no GPU.
    """

    span_us: float
    devices: int
    busy_us: float
    exposed_collectives_us: float
    synchronisation_us: float
    host_us: float
    launching_us: float
    between_us: float
    in_graphs_us: float

    @property
    def between_calls_us(self) -> float:
        """When no GPU was at work, but for the time after copies to the host."""
        return self.host_us + self.launching_us + self.between_us


class TraceAdvice(Document, frozen=True, kw_only=True):
    """What time is lost in, in which operators of the framework, how much, and what to do about it;
    `do` is empty where nothing is known. Savings of operators count while a GPU is at work, others
    while it is idle.
    """

    what: InefficiencyKind
    op: str
    saved_us: float
    do: str


class TracedModel(Document, frozen=True, kw_only=True):
    """A model whose layers a trace may have.

    `layers` counts the unique ones that compute or move, `found` those that the trace has; `absent`
    are the names of others, of which frameworks may have made something else. `executions` is how
    often the trace runs the model, by how often it runs most of these layers: `None` where it has
    none. `bound_us` is the sequential bound of one execution with fusion on the system of the
    trace's bounds, at the `precision` of most of its time; `None` where no full one is known.
    """

    model: str
    batch: int
    layers: int
    found: int
    absent: tuple[str, ...]
    executions: float | None
    precision: Precision
    bound_us: float | None


class TraceAnswer(Result, frozen=True, kw_only=True):
    """A trace beside the bounds of its operators, each by itself.

    `device` is the GPU's name where the trace says it. `system` is where the layers were measured,
    empty where none was, with the id `system_id`. `calls` has all operators that took time, the
    longest first; `unattributed` what GPUs did for no operator of the trace, as in CUDA graphs;
    `on_gpus` all that they did, by name; `host_calls` the calls of their runtime and driver;
    `host_operators` the operators that the host worked in longest. `left_out` counts the events
    that can't be, by what is wrong with them. `published` names the model that
    was published, empty where none was; `model` is one that was asked for.
    """

    _rows: ClassVar[str] = "calls"

    file: str
    format: str
    device: str
    on_gpu: bool
    times: TraceTimes
    system: str
    system_id: str
    calls: tuple[TracedCalls, ...]
    unattributed: tuple[TracedTotal, ...]
    on_gpus: tuple[TracedTotal, ...]
    host_calls: tuple[TracedTotal, ...]
    host_operators: tuple[TracedTotal, ...]
    advice: tuple[TraceAdvice, ...]
    left_out: dict[str, int]
    published: str = ""
    model: TracedModel | None = None

    @property
    def us(self) -> float:
        """How long the GPUs, or the host, were at work in all operators and outside of them."""
        inside = sum(call.us for call in self.calls)
        return inside + sum(total.us for total in self.unattributed)

    def matched_us(self, match: Match) -> float:
        """How long they were at work in operators whose layers are known so."""
        return sum(call.us for call in self.calls if call.match == match)


class TraceDifference(Document, frozen=True, kw_only=True):
    """An operator in two traces, or a kernel that no operator started. The same layers make two
    operators the same, whatever their names; all else is the same by name. Times are as of
    `TracedCalls`, 0 where the trace doesn't have it.
    """

    name: str
    inputs: tuple[tuple[int, ...], ...]
    calls: int
    other_calls: int
    us: float
    other_us: float


class TraceComparison(Result, frozen=True, kw_only=True):
    """Two traces, and their operators by how much their times differ, most first."""

    trace: TraceAnswer
    other: TraceAnswer
    differences: tuple[TraceDifference, ...]


def in_words(left_out: Mapping[str, int]) -> str:
    """What was left out of a trace."""
    return ", ".join(
        f"{count:,} {'event' if count == 1 else 'events'} {why}" for why, count in left_out.items()
    )
