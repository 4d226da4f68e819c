"""What holds for every trace, as OpenTelemetry's SDK and as Perfetto read it."""

import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from benanza.spans.otlp import export
from benanza.spans.perfetto import perfetto
from benanza.spans.trace import SpanTrace

ROUNDED_US = 0.01
"""Times of slices are floats."""


def exported(trace: SpanTrace) -> tuple[ReadableSpan, ...]:
    """The spans that an exporter is given: of one trace, each once, each within its parent."""
    memory = InMemorySpanExporter()
    export(trace, memory)
    spans = memory.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans if span.context}
    assert len(by_id) == len(spans) == len(trace.spans)
    assert {span.context.trace_id for span in spans if span.context} == {int(trace.trace_id, 16)}
    roots = [span for span in spans if span.parent is None]
    assert len(roots) == 1
    for span in spans:
        assert span.start_time is not None
        assert span.end_time is not None
        assert span.start_time <= span.end_time
        if span.parent is not None:
            around = by_id[span.parent.span_id]
            assert around.start_time is not None
            assert around.end_time is not None
            assert around.start_time <= span.start_time
            assert span.end_time <= around.end_time
    return spans


def slices(trace: SpanTrace) -> list[dict[str, Any]]:
    """The slices that Perfetto shows: those of a row are within each other or apart."""
    events = json.loads(perfetto([trace]))["traceEvents"]
    found = [event for event in events if event["ph"] == "X"]
    rows: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for event in found:
        rows[event["pid"], event["tid"]].append(event)
    for row in rows.values():
        _check_row(row)
    assert len(found) == len(trace.spans)
    return found


def _check_row(row: Sequence[dict[str, Any]]) -> None:
    around: list[float] = []
    for event in sorted(row, key=lambda event: (event["ts"], -event["dur"])):
        end = event["ts"] + event["dur"]
        while around and around[-1] <= event["ts"] + ROUNDED_US:
            around.pop()
        assert not around or end <= around[-1] + ROUNDED_US
        around.append(end)
