"""What generating text takes, by bounds: times to tokens, rates and costs."""

from typing import Literal

from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.document import Document

Source = Literal["bound", "attainable", "measured"]
"""Where times come from: the sequential bounds, the attainable estimates, or the fastest runs of
the models that were profiled.
"""


class GenerationTimes(Document, frozen=True, kw_only=True):
    """Times and rates from one source; `None` where it doesn't say.

    `time_to_first_token_us` is that of the prompt, `time_per_token_us` that of a step, in which
    each sequence gets a token; `tokens_per_s` are those of all sequences. `cost_per_million` is of
    tokens that steps generate, in the currency of the price.
    """

    source: Source
    time_to_first_token_us: float | None
    time_per_token_us: float | None
    tokens_per_s: float | None
    cost_per_million: float | None


Kind = Literal["attention", "products", "others"]
"""Of calls: what contains attention, else what contains a product, and the rest."""


class TimeByKind(Document, frozen=True, kw_only=True):
    """The share of a step's bound that calls of a kind take."""

    kind: Kind
    share: float


class GenerationPoint(Document, frozen=True, kw_only=True):
    """Generating for so many sequences. `step` is the bound of a step, `prompt` that of the prompt
    for as many sequences on the same system at the same precision, if there is one.

    `kinds` are the parts of the step's bound, the greatest first.
    """

    step: ModelBound
    prompt: ModelBound | None
    times: tuple[GenerationTimes, ...]
    kinds: tuple[TimeByKind, ...]


class Generation(Result, frozen=True, kw_only=True):
    """All points that have a whole bound. `partial` are those bounds of the step and the prompt
    that lack layers: times by them would be too short. `price_per_hour` is the system's, if given.
    """

    points: tuple[GenerationPoint, ...]
    partial: tuple[ModelBound, ...]
    price_per_hour: float | None
