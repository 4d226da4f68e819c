"""Where the time of a bound goes: the calls that it adds up."""

from typing import ClassVar

from benanza.results.result import Result
from benanza_analyzer.answers.calls import Call
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.document import Document
from benanza_schemas.events import Limit


class ExplainedCall(Call, frozen=True, kw_only=True):
    """A call of a bound: a layer, or a group in place of its layers.

    `layers` are the names of those at `positions`; `op` has their operators, joined by `+`. `rule`
    proposed the group, and is empty for a single layer. `share` is the part of the sequential bound
    that the call takes with the layout conversions. `library`, `algorithm` and `layout` are those
    of the fastest variant; a view has none. `roofline_us` is the call's speed of light: the
    least time by the system's ceilings; `limited_by` says which of them that is. Both are `None`
    where the ceilings aren't known.

    `order` is the call's place in an order in which the bound's calls can run. `alive_bytes` is
    what is in memory while it runs, in that order: what calls gave and others are still to read,
    its own results too. `constant_bytes` are the weights and other constants that it reads, which
    are there all the time. Both are at the bound's precision, and `None` where what any of the
    calls reads and gives isn't known.
    """

    layers: tuple[str, ...]
    op: str
    rule: str
    share: float
    library: str
    algorithm: str
    layout: str
    roofline_us: float | None
    limited_by: Limit | None
    order: int
    constant_bytes: int | None
    alive_bytes: int | None


class Explanation(Document, frozen=True, kw_only=True):
    """A bound and its calls, those that take the longest first."""

    bound: ModelBound
    calls: tuple[ExplainedCall, ...]


class Explanations(Result, frozen=True, kw_only=True):
    """Explanations of some bounds."""

    _rows: ClassVar[str] = "explanations.calls"

    explanations: tuple[Explanation, ...]
