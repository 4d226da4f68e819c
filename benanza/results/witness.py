"""Models that were run as their bounds say, or would say under other policies."""

from benanza.results.bounds import FailedModel
from benanza.results.result import Result
from benanza_schemas.layer import Precision


class ModelWitness(Result, frozen=True, kw_only=True):
    """How long a model took when it ran as its bound says, beside the bound and the estimate.

    If `policy` is not empty, it ran as the bound would say under this policy, `predicted_us`;
    the bounds and the estimate are those of the fastest calls all the same.
    In `sequential_us` the calls run one after the other; in `read_ahead_us` likewise, with weights
    prefetched into the cache, or kept there, whichever was faster; in `parallel_us` on several
    streams. `layout_changes` of the `calls` are layout conversions. `failure` says why there are no
    times. The run is right if its `error`, as a share of the reference's norm, is no larger than
    `allowed_error`; both are `None` where results were not compared, for which `unchecked` has the
    reason.
    """

    model: str
    model_id: str
    batch: int
    system: str
    system_id: str
    runtime: str
    precision: Precision
    policy: str
    predicted_us: float | None
    sequential_bound_us: float | None
    parallel_bound_us: float | None
    attainable_us: float | None
    sequential_us: float | None
    sequential_iqr_us: float | None
    read_ahead_us: float | None
    read_ahead_iqr_us: float | None
    parallel_us: float | None
    parallel_iqr_us: float | None
    calls: int
    layout_changes: int
    error: float | None
    allowed_error: float | None
    unchecked: str
    failure: str


class Witnesses(Result, frozen=True, kw_only=True):
    """Models that were run, and those that have no bound."""

    witnesses: tuple[ModelWitness, ...]
    errors: tuple[FailedModel, ...]
