"""Traces in Chrome's trace format, which Perfetto shows: https://ui.perfetto.dev.

Source: "Trace Event Format" of the Chromium project. Slices of one row must lie within each other
or apart, so what overlaps with others has a row of its own.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from benanza.profiling.chrome_trace import complete_event, process_name
from benanza.spans.trace import SpanTrace, TraceSpan


def perfetto(traces: Sequence[SpanTrace]) -> bytes:
    """Traces as JSON: each track of each is a process. Times count from the first span of all; when
    that was, and the traces' ids, are in `otherData`.
    """
    first_ns = min(span.start_ns for trace in traces for span in trace.spans)
    events: list[dict[str, Any]] = []
    for trace in traces:
        processes = {event["pid"] for event in events}
        events += _events(trace, first_ns, len(processes))
    about = {
        "start_ns": first_ns,
        "traces": [
            {"trace_id": trace.trace_id, "root": trace.spans[0].name, "links": trace.links}
            for trace in traces
        ],
    }
    document = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": about}
    return msgspec.json.encode(document)


class _Rows:
    """The rows of a process: of each the slices that are open at a time, outermost first."""

    def __init__(self) -> None:
        self._open: list[list[TraceSpan]] = []
        self._row_of: dict[str, int] = {}

    def place(self, span: TraceSpan) -> int:
        """The row of a span, which comes in the order of starts: that of its parent if nothing else
        is open within it there, else one where nothing is.
        """
        for row in self._open:
            while row and row[-1].end_ns <= span.start_ns and row[-1].span_id != span.parent:
                row.pop()
        found = self._row_of.get(span.parent)
        if found is None or not self._open[found] or self._open[found][-1].span_id != span.parent:
            free = (number for number, row in enumerate(self._open) if not row)
            found = next(free, len(self._open))
        if found == len(self._open):
            self._open.append([])
        self._open[found].append(span)
        self._row_of[span.span_id] = found
        return found


def _events(trace: SpanTrace, first_ns: int, before: int) -> Iterator[dict[str, Any]]:
    """The events of a trace, before which there are so many processes."""
    tracks = list(dict.fromkeys(span.track for span in trace.spans))
    for number, track in enumerate(tracks, before):
        yield process_name(number, f"{track}: {trace.spans[0].name}")
    rows = {track: _Rows() for track in tracks}
    # A parent is before its children in the trace, and so it is here where both begin at once.
    for span in sorted(trace.spans, key=lambda span: span.start_ns):
        yield complete_event(
            before + tracks.index(span.track),
            rows[span.track].place(span),
            span.name,
            (span.start_ns - first_ns) / 1_000,
            (span.end_ns - span.start_ns) / 1_000,
            {
                "span_id": span.span_id,
                "parent": span.parent,
                **span.attributes,
                **({"failure": span.failure} if span.failure else {}),
            },
        )
