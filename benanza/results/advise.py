"""What would make a model faster in a framework, and what each remedy is worth."""

from typing import ClassVar, Literal

from benanza.results.profile import ModelProfile
from benanza.results.result import Result
from benanza_backbone.document import Document

Source = Literal[
    "profile", "states in place", "other configuration", "other precision", "larger batch"
]
"""What a saving is computed from: parts of the framework's run beside those of the bound; the bound
with states copied; a run with what the framework has for all models; bounds at another precision;
bounds at a larger batch.
"""


class Advice(Document, frozen=True, kw_only=True):
    """A remedy, and how much less time one sample takes with it, in microseconds.

    `what` says where the time is lost, or what to change; `op` in which operators of the framework,
    joined by `+` where calls save together, and `times` in how many such parts of the run; `do`
    what to type or to set, empty if nothing is known that helps. `saved_us` is predicted, with
    `spread_us` where the times that it is computed from have one; `share` is its part of the
    framework's time. `seen_us` is what was saved when the advice was followed, if a profile shows
    that; it is negative if that took longer. `layers` are the names of layers where most is saved.
    """

    source: Source
    what: str
    op: str = ""
    times: int = 1
    do: str
    saved_us: float
    spread_us: float | None = None
    share: float
    seen_us: float | None = None
    layers: tuple[str, ...] = ()


class ModelAdvice(Document, frozen=True, kw_only=True):
    """A framework's newest run of a model, and the advice about it, the greatest saving first.

    Savings of one source `profile` add up, to no more than the run; others overlap with them.
    Where its calls took longer than the whole run while they were timed, they count in proportion.
    """

    profile: ModelProfile
    advice: tuple[Advice, ...]


class Advised(Result, frozen=True, kw_only=True):
    """Advice about some models."""

    _rows: ClassVar[str] = "models.advice"

    models: tuple[ModelAdvice, ...]
