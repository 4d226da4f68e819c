"""How long frameworks take for models, and where they are slower than the bound."""

import math
from datetime import datetime
from typing import ClassVar

from benanza.results.bounds import FailedModel
from benanza.results.result import Result
from benanza_analyzer.answers.kinds import Inefficiency
from benanza_backbone.document import Document
from benanza_schemas.layer import Precision


class ProfiledKernel(Document, frozen=True, kw_only=True):
    """A kernel or a copy that a call started on a GPU, and when, as of a `ProfiledCall`."""

    name: str
    start_us: float
    us: float


class ProfiledCall(Document, frozen=True, kw_only=True):
    """A call that a framework made, and when: microseconds from the start of an execution.

    `name` and `op` are the framework's. `positions` are those of the layers that it computes; none,
    if it only converts or copies, or computes what is no layer, as of constants alone. `multiplies`
    says whether one of these layers is a product, which frameworks have libraries for, as far as
    that is known. `kernels` are what it started on a GPU, if the framework says so.
    """

    name: str
    op: str
    positions: tuple[int, ...]
    multiplies: bool
    start_us: float
    us: float
    iqr_us: float
    kernels: tuple[ProfiledKernel, ...]


class ProfiledPart(Inefficiency, frozen=True, kw_only=True):
    """A part of a framework's run beside the same part of the bound. `layers` are the names of the
    layers at `positions`, and `op` has the framework's operators joined by `+`.
    """

    layers: tuple[str, ...]
    op: str


class CopiedStates(Document, frozen=True, kw_only=True):
    """What a run loses where it copies states that its bound keeps in place, such as a decoder's
    keys and values.

    `parts` are the numbers of the parts of the run that read and write them and take longer than
    the bound, `more_us` is how much longer the bound would be with these states copied.
    """

    parts: tuple[int, ...]
    more_us: float


class ModelProfile(Result, frozen=True, kw_only=True):
    """How long a framework takes for a model, beside the bound on the same device, which is a GPU
    or, if not `on_gpu`, the CPU.

    `configuration` says in words what was set, `options` by the framework's own names. `us` is the
    median of an execution of which only the start and the end were looked at, `looked_at_us` that
    of one in which each of `calls` was timed; both are `None` where `failure` says why. `bound_us`
    is the sequential bound with fusion under the accounting `full`, by the times of the system
    `bound_system_id`; where it is `None`, as no full bound is known, there are no `parts` either.
    Where calls can't be timed, as within a CUDA graph, `calls` may be those of a run with the
    configuration `calls_of`, which makes the same calls one by one; else that is empty. `slowed_by`
    says what else the machine did meanwhile, such as other programs, without which the framework
    may take less. The parts add up to the run in which calls were timed, or about to `us` where
    that was another run, and to the bound; those in which the bound saves most come first.
    `contradiction` says what to do where the bound is above the run, which can't be; else it is
    empty. Where no full bound is known, `partial_bound_us` is the greatest one that lacks layers,
    `missing_layers` of them. `copied_states` is there where parts of the run copy states, and it is
    known what that takes.
    """

    _rows: ClassVar[str] = "calls"

    model: str
    model_id: str
    batch: int
    device: str
    on_gpu: bool
    precision: Precision
    framework: str
    version: str
    configuration: str
    options: dict[str, str]
    profiled_at: datetime
    us: float | None
    iqr_us: float | None
    looked_at_us: float | None
    calls: tuple[ProfiledCall, ...]
    calls_of: str
    bound_us: float | None
    bound_system_id: str
    parts: tuple[ProfiledPart, ...]
    slowed_by: str
    failure: str
    contradiction: str = ""
    partial_bound_us: float | None = None
    missing_layers: int = 0
    copied_states: CopiedStates | None = None

    @property
    def in_run(self) -> float:
        """What times of parts are multiplied by so that together they take no longer than the run:
        while calls are timed, they may.
        """
        looked_us = math.fsum(part.us for part in self.parts if part.kind != "timing each call")
        return min(1.0, self.us / looked_us) if self.us and looked_us else 1.0

    @property
    def between_calls_us(self) -> float:
        """How long nothing runs between the calls of the run, after synchronisations as well."""
        between = ("between calls", "synchronisation")
        return math.fsum(part.us for part in self.parts if part.kind in between)

    @property
    def waits_for_host(self) -> bool:
        """Whether a GPU waits for the host for most of the run: then faster calls only make it
        wait longer.
        """
        return self.on_gpu and 2 * self.between_calls_us > (self.us or math.inf)


class Profiles(Result, frozen=True, kw_only=True):
    """Profiles of some models, and the models that have none."""

    _rows: ClassVar[str] = "profiles"

    profiles: tuple[ModelProfile, ...]
    errors: tuple[FailedModel, ...]


def contradiction(run_us: float | None, bound_us: float | None) -> str:
    """What to say of a bound that is above a run, empty if it isn't, or if one of them isn't known.
    Times of one model vary by a hundredth.
    """
    if not run_us or not bound_us or run_us >= bound_us:
        return ""
    above = f"the bound is {bound_us / run_us - 1:.1%} above this run"
    if bound_us < 1.01 * run_us:
        return f"{above}, as much as two measurements may differ: take them as equal"
    return (
        f"{above}, so it is none: a layer was measured too slow; say: benanza run MODEL --again, "
        "on an idle machine, and report it if the bound stays above"
    )
