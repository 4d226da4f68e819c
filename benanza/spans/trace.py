"""A trace: spans within spans, whose ids follow from what they are spans of.

The same work has the same ids, however often it is told, so that nothing counts twice. The words
are OpenTelemetry's: https://opentelemetry.io/docs/concepts/signals/traces/.
"""

from collections.abc import Mapping
from typing import NamedTuple

from benanza_schemas.identity import digest

Attribute = str | bool | int | float | tuple[int, ...] | tuple[float, ...]

SPAN_ID_DIGITS = 16


class TraceSpan(NamedTuple):
    """Work from `start_ns` to `end_ns`, in nanoseconds since 1970, within the span `parent`; that
    of the trace's root is empty. Ids are 16 hexadecimal digits. `track` is what people see it
    under: the run, or the service. `failure` says why the work came to nothing.
    """

    span_id: str
    parent: str
    name: str
    start_ns: int
    end_ns: int
    track: str
    attributes: Mapping[str, Attribute] = {}
    failure: str = ""


class SpanTrace(NamedTuple):
    """Spans of one trace, whose id is that of an event: each after its parent. All are within the
    first, which is the root, or within a span that somebody else tells of.

    `links` are the ids of other traces that it stands on.
    """

    trace_id: str
    spans: tuple[TraceSpan, ...]
    links: tuple[str, ...] = ()


def span_id(*causes: str) -> str:
    """The id of the span with these causes."""
    return digest("\0".join(("Span", *causes)).encode())[:SPAN_ID_DIGITS]


def within(span: TraceSpan, parent: TraceSpan) -> TraceSpan:
    """The span as far as it is within its parent: profilers' clocks count whole microseconds, and
    may differ by some.
    """
    start_ns = min(max(span.start_ns, parent.start_ns), parent.end_ns)
    return span._replace(start_ns=start_ns, end_ns=min(max(span.end_ns, start_ns), parent.end_ns))
