"""What comes of an evaluation."""

from datetime import datetime
from typing import Literal

import msgspec

from benanza.evaluating.request import EvaluationRequest
from benanza.results.result import Result
from benanza_analyzer.answers.kinds import InefficiencyKind
from benanza_backbone.document import Document
from benanza_schemas.events import System


class Percentiles(Document, frozen=True, kw_only=True):
    """Of times in microseconds. `p999_us` is `None` of fewer than 1,000, of which it is none."""

    mean_us: float
    p50_us: float
    p90_us: float
    p99_us: float
    p999_us: float | None


class ServiceTimes(Document, frozen=True, kw_only=True):
    """How long the model takes for batches of one size, without load, with their pre- and
    post-processing: `samples_us` one batch after the other, and `after_idle_us` after pauses, in
    which threads fall asleep and caches fill with other things, both in the order in which they
    were measured, in turn with the other sizes. `median_us` is that of the former.
    """

    batch: int
    median_us: float
    samples_us: tuple[float, ...]
    after_idle_us: tuple[float, ...]

    @property
    def per_s(self) -> float:
        """Samples per second."""
        return 1e6 * self.batch / self.median_us


class Overheads(Document, frozen=True, kw_only=True):
    """What a server's requests and batches take beside the model: `issuing_us` until the server has
    a request and until LoadGen has the answer, `starting_us` from when a batch may start until it
    does, and `between_us` from one batch to the next that waits.
    """

    issuing_us: float
    starting_us: float
    between_us: float


class Validity(Document, frozen=True, kw_only=True):
    """Whether LoadGen calls a run valid, each of its checks that it makes in the scenario, and its
    own words where one failed.
    """

    valid: bool
    checks: dict[str, bool]
    reason: str


class Tried(Document, frozen=True, kw_only=True):
    """A rate that the search tried: requests per second, and what came of it: whether the limit was
    kept, and in a run of the whole duration whether LoadGen calls it valid.
    """

    rate_per_s: float
    p99_us: float
    valid: bool


class MeasuredLoad(Document, frozen=True, kw_only=True):
    """A run under load, as LoadGen and the system under test saw it.

    `latency` is LoadGen's, from when a request should have been issued until it was answered; of
    the offline scenario there is none. A sample's latency is the sum of `issuing`, until the system
    under test has it, `queueing`, until its batch starts, and `computing`, with pre- and
    post-processing, until it is answered. `prepare_us`, `run_us` and `finish_us` are means of what
    a batch takes of `computing`. `batches` counts those of each size.
    """

    validity: Validity
    queries: int
    samples: int
    per_s: float
    latency: Percentiles | None
    issuing_us: float
    queueing: Percentiles
    filling_us: float
    computing: Percentiles
    prepare_us: float
    run_us: float
    finish_us: float
    batches: dict[int, int]


class Evaluation(Result, frozen=True, kw_only=True):
    """A model in a framework under a scenario.

    `model_id` is that of batch size 1, `dims` holds its other dimensions. A model that can't be had
    at batch size 1 is `as_in_file`: the id is that of its own, and what it takes at once is one
    sample. `service` are the times without load, by batch size, and `not_batched` says why there
    are no larger ones. `rate_per_s` is that of the server's run; where it was `searched`, the
    greatest that keeps the limit, by `tried`. `simulated` is the latency that a simulation predicts
    at this rate, by `overheads` and the times of batches at other rates. `metrics` are what the
    samples say of the results. `slowed_by` says what else the machine did meanwhile. `failure` says
    why nothing was measured.
    """

    request: EvaluationRequest
    name: str
    model_id: str
    sha256: str
    dims: dict[str, int]
    system: System
    configuration: str
    loadgen: str
    samples: str
    evaluated_at: datetime
    service: tuple[ServiceTimes, ...] = ()
    not_batched: str = ""
    as_in_file: bool = False
    limit_us: float | None = None
    rate_per_s: float | None = None
    searched: bool = False
    tried: tuple[Tried, ...] = ()
    measured: MeasuredLoad | None = None
    overheads: Overheads | None = None
    simulated: Percentiles | None = None
    metrics: dict[str, float] = msgspec.field(default_factory=dict)
    slowed_by: str = ""
    failure: str = ""


LoadKind = Literal[
    "the bound", "the framework", "larger batches", "load", "filling", "queueing", "issuing"
]
"""Of a request's mean latency: the bound at batch size 1; what the framework takes more for it
alone; what batches take more than one sample, alone; what they take more under load; how long the
request waits for its batch to fill while nothing runs, and while others run; and how long LoadGen
is behind in issuing it.
"""


class LoadPart(Document, frozen=True, kw_only=True):
    """A part of a request's mean latency; negative where this is less than the one before."""

    kind: LoadKind
    us: float


class FrameworkLoss(Document, frozen=True, kw_only=True):
    """How much longer the framework's calls of this kind take than the bound, as it was profiled at
    batch size 1.
    """

    kind: InefficiencyKind
    us: float


class EvaluatedModel(Result, frozen=True, kw_only=True):
    """An evaluation beside bounds: the lowest full ones with fusion under the accounting `full` on
    the same device, at the same precision.

    `bound_us` is the latency of a request by the bound at `bound_batch`: 1, but of multi-stream as
    many samples as a request has; of offline there is none. `bound_per_s` are the most samples a
    second by any batch size that has a bound, `bound_per_s_batch`. Where one is `None`, none is
    known; where that is of a request's latency, or of all of offline, `without_bound` says so, and
    how to have it. `parts` add up to a request's mean latency in the
    single stream and the server, `losses` to about what the profile of the model in this framework
    takes more than the bound; they are empty where it was not profiled.
    """

    evaluation: Evaluation
    bound_us: float | None
    bound_batch: int | None
    bound_per_s: float | None
    bound_per_s_batch: int | None
    parts: tuple[LoadPart, ...]
    losses: tuple[FrameworkLoss, ...]
    without_bound: str

    @property
    def latency_ratio(self) -> float | None:
        """How many times as long as by the bound half of the requests take at most."""
        measured = self.evaluation.measured
        if self.bound_us is None or measured is None or measured.latency is None:
            return None
        return measured.latency.p50_us / self.bound_us

    @property
    def throughput_share(self) -> float | None:
        """Which share of the bound's throughput was had."""
        measured = self.evaluation.measured
        if self.bound_per_s is None or measured is None:
            return None
        return measured.per_s / self.bound_per_s
