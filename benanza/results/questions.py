"""The six questions of Benanza's paper (Li et al., IPDPS 2020), answered for models."""

from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.document import Document


class ModelAnswers(Document, frozen=True, kw_only=True):
    """The answers for a bound. Times are in microseconds, and `None` where they aren't known.

    Q1, potential speed-up: `framework_us` is the fastest known run by a framework, `framework` says
    which; `speed_up` is that to the sequential bound, `parallel_speed_up` to the parallel one. Both
    are `None` where the bound is above the run: that can't be, and `contradiction` says what to do.
    Q2, independent layers in parallel: `parallel_us` is what the bound would save at most.
    Q3, the best algorithms: `algorithms_us` is what the best save against those that libraries'
    heuristics choose, both without fusion, in `algorithm_layers` layers; `None` where no heuristic
    was asked. Q4, inefficiencies: `inefficiency_us` is the time that the run spends between calls
    and in calls that the bound does without. Q5, fusion: `fusion_us` is what groups save. Q6,
    Tensor Cores: `tf32_us` and `fp16_us` are what these precisions save against this one.
    """

    bound: ModelBound
    framework: str
    framework_us: float | None
    contradiction: str
    speed_up: float | None
    parallel_speed_up: float | None
    parallel_us: float | None
    algorithms_us: float | None
    algorithm_layers: int
    inefficiency_us: float | None
    fusion_us: float | None
    tf32_us: float | None
    fp16_us: float | None


class Answers(Result, frozen=True, kw_only=True):
    """The answers for some bounds."""

    models: tuple[ModelAnswers, ...]
