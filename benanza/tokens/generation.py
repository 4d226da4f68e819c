"""What generating text takes, by bounds: times to tokens, rates and costs."""

from typing import ClassVar, Literal

from benanza.results.result import Result
from benanza.tokens.load import LoadedTokens, TokenLoad
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
    tokens that steps generate, in the currency of the price. `joules_per_token` is known of bounds
    on GPUs alone: each call's time at the power that the GPU took right after the call had been
    timed, of which its driver says a mean over up to a second.
    """

    source: Source
    time_to_first_token_us: float | None
    time_per_token_us: float | None
    tokens_per_s: float | None
    cost_per_million: float | None
    joules_per_token: float | None


Kind = Literal["attention", "products", "others"]
"""Of calls: what contains attention, else what contains a product, and the rest."""


class TimeByKind(Document, frozen=True, kw_only=True):
    """The share of a step's bound that calls of a kind take."""

    kind: Kind
    share: float


Limit = Literal["weights", "cache", "arithmetic", "launches", "other values"]
"""Of a call, which of these takes longest at the ceilings of the system: to read its constants;
to move the rest of what attention moves, most of which are the keys and values that are kept; its
operations; or to move what other calls move besides constants. `launches` limit calls that take at
most twice as long as the shortest call of the bound, and more than twice as long as all of these.
"""


class TimeByLimit(Document, frozen=True, kw_only=True):
    """The share of a step's bound that calls take that this limits."""

    limit: Limit
    share: float


class GenerationPoint(Document, frozen=True, kw_only=True):
    """Generating for so many sequences. `step` is the bound of a step, `prompt` that of the prompt
    for as many sequences on the same system at the same precision, if there is one.

    `kinds` are the parts of the step's bound, the greatest first, and so are `limits`, of which
    there are none where the system's ceilings aren't known.
    """

    step: ModelBound
    prompt: ModelBound | None
    times: tuple[GenerationTimes, ...]
    kinds: tuple[TimeByKind, ...]
    limits: tuple[TimeByLimit, ...]


class GenerationUnderLoad(Document, frozen=True, kw_only=True):
    """What continuous batching is predicted to make of a load, at the times that one source has for
    a step: the first of its bounds on the same system at the same precision. `found` is `None`
    where `failure` says why.
    """

    step: ModelBound
    source: Source
    sequences: int
    found: LoadedTokens | None
    failure: str = ""


class Generation(Result, frozen=True, kw_only=True):
    """All points that have a whole bound. `partial` are those bounds of the step and the prompt
    that lack layers: times by them would be too short. `price_per_hour` is the system's, if given.
    With a `load`, `under_load` says what comes of it by each source of times.
    """

    _rows: ClassVar[str] = "points.times"

    points: tuple[GenerationPoint, ...]
    partial: tuple[ModelBound, ...]
    price_per_hour: float | None
    load: TokenLoad | None = None
    under_load: tuple[GenerationUnderLoad, ...] = ()
