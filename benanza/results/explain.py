"""Where the time of a bound goes: the calls that it adds up."""

from typing import Literal

from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.document import Document

Limit = Literal["memory", "compute"]
"""What a call can't be faster than: the rate of the memory, or that of operations."""


class ExplainedCall(Document, frozen=True, kw_only=True):
    """A call of a bound: a layer, or a group in place of its layers.

    `positions` and `layers` are those of the layers and their names; `op` has their operators,
    joined by `+`. `rule` proposed the group, and is empty for a single layer. `us` is the median
    time, `iqr_us` its interquartile range, `share` its part of the sequential bound with the layout
    conversions that the call causes, `conversion_us`. `library`, `algorithm` and `layout` are those
    of the fastest variant. A view whose result is converted takes no time and has no variant.

    `flops` and `bytes` are the call's operations in floating point and the bytes that it moves at
    the bound's precision, as the roofline counts them. `roofline_us` is the least time by the
    system's ceilings, and `limited_by` which of them that is: both `None` where they aren't known.
    `critical` says whether the call is on the critical path.
    """

    positions: tuple[int, ...]
    layers: tuple[str, ...]
    op: str
    rule: str
    fingerprint: str
    us: float
    iqr_us: float
    conversion_us: float
    share: float
    library: str
    algorithm: str
    layout: str
    flops: int
    bytes: float
    roofline_us: float | None
    limited_by: Limit | None
    critical: bool


class Explanation(Document, frozen=True, kw_only=True):
    """A bound and its calls, those that take the longest first."""

    bound: ModelBound
    calls: tuple[ExplainedCall, ...]


class Explanations(Result, frozen=True, kw_only=True):
    """Explanations of some bounds."""

    explanations: tuple[Explanation, ...]
