"""What comes of repeating a pipeline."""

from benanza.evaluating.results import EvaluatedModel
from benanza.pipelines.pitfalls import Pitfall
from benanza.pipelines.scoring import Interval
from benanza.pipelines.specification import RecordedLoad
from benanza.results.result import Result
from benanza_backbone.document import Document


class PipelineDifference(Document, frozen=True, kw_only=True):
    """What is otherwise than specified, here or as it was recorded; empty where one side doesn't
    have it.
    """

    what: str
    specified: str
    found: str


class PipelineAccuracy(Document, frozen=True, kw_only=True):
    """A metric here, with its interval at 95% (Wilson), beside the recorded one. A failed sample
    is not right. `differs` says that the intervals have no share in common.
    """

    metric: str
    right: int
    samples: int
    share: float
    interval: Interval
    recorded_share: float | None = None
    recorded_interval: Interval | None = None
    differs: bool = False


class PipelineSpeed(Document, frozen=True, kw_only=True):
    """Median times, in microseconds, beside the recorded ones: of a sample's pre-processing, and of
    a batch in the model.
    """

    preparing_us: float
    model_us: float
    recorded_preparing_us: float | None = None
    recorded_model_us: float | None = None


class FailedSample(Document, frozen=True, kw_only=True):
    """A sample that can't be evaluated, and why."""

    name: str
    reason: str


class RepeatedPipeline(Result, frozen=True, kw_only=True):
    """A pipeline that was run here, as it is specified.

    `differences` are those between what is specified and what is here; `changed` those between what
    is specified and what was recorded. `pitfalls` have names for them, and for what the pipeline
    shows in itself. `same_predictions` is whether all samples have the same highest score as
    recorded, `None` without a record. `under_load` is the scenario's evaluation, if one is
    specified, and `recorded_load` what was recorded of it.
    """

    file: str
    model: str
    data: str
    batch: int
    differences: tuple[PipelineDifference, ...]
    changed: tuple[PipelineDifference, ...]
    pitfalls: tuple[Pitfall, ...]
    accuracies: tuple[PipelineAccuracy, ...]
    same_predictions: bool | None
    speed: PipelineSpeed
    failed: tuple[FailedSample, ...]
    under_load: EvaluatedModel | None = None
    recorded_load: RecordedLoad | None = None

    @property
    def agrees(self) -> bool:
        """Whether model, data and the framework's options are those that are specified, not all
        samples failed, no pitfall has shown, and what was recorded was found again. Other versions
        and machines are no matter by themselves.
        """
        as_specified = ("model.sha256", "data.sha256", "framework.options.")
        return not (
            self.changed
            or self.pitfalls
            or self.same_predictions is False
            or any(each.samples == len(self.failed) for each in self.accuracies)
            or any(each.what.startswith(as_specified) for each in self.differences)
            or any(each.differs for each in self.accuracies)
        )
