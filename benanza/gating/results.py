"""What a gate says."""

from datetime import datetime
from typing import ClassVar, Literal

from benanza.results.bounds import FailedModel
from benanza.results.result import Result
from benanza_backbone.document import Document
from benanza_schemas.layer import Precision

Verdict = Literal["holds", "within the noise", "fails", "unknown"]
"""A limit holds or fails by more than the noise, lies within it, or can't be checked."""

WORST_FIRST: tuple[Verdict, ...] = ("fails", "unknown", "within the noise", "holds")

Limit = Literal["max-ratio", "no-slower-than"]


class GateCheck(Document, frozen=True, kw_only=True):
    """Whether a run keeps a limit: that it takes at most `allowed` times as long as its bound
    (`max-ratio`), or as an earlier run (`no-slower-than`, where `allowed` is 1).

    `ratio` is how many times as long it takes, `least` and `greatest` are what that may be by the
    noise of both; each `None` where there is nothing to compare. `reason` says why a limit is
    unknown.
    """

    limit: Limit
    allowed: float
    verdict: Verdict
    ratio: float | None = None
    least: float | None = None
    greatest: float | None = None
    reason: str = ""


class GatedRun(Document, frozen=True, kw_only=True):
    """A run of a model in a framework with a configuration, and the limits that were asked of it.

    `medians_us` are those of its repetitions, each in a session of its own where the gate ran them;
    of a run that was stored otherwise, those of five parts of its samples, one after the other.
    `us` is their median, `None` where `failure` says why. `slowed_by` says what else the machine
    did meanwhile.
    """

    model: str
    model_id: str
    batch: int
    dims: dict[str, int]
    precision: Precision
    device: str
    framework: str
    version: str
    configuration: str
    profiled_at: datetime
    us: float | None
    medians_us: tuple[float, ...]
    slowed_by: str
    failure: str
    checks: tuple[GateCheck, ...]


class Gate(Result, frozen=True, kw_only=True):
    """Runs with the limits that they keep or don't, and the models that can't be read."""

    _rows: ClassVar[str] = "runs.checks"

    runs: tuple[GatedRun, ...]
    errors: tuple[FailedModel, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of all: what fails counts before what isn't known."""
        verdicts = {check.verdict for run in self.runs for check in run.checks}
        if self.errors or not verdicts:
            verdicts.add("unknown")
        return next(verdict for verdict in WORST_FIRST if verdict in verdicts)
