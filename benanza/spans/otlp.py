"""Traces as OpenTelemetry's SDK has them, for its exporters. It needs the extra `otlp`."""

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, TraceFlags

from benanza.spans.trace import SpanTrace, span_id
from benanza_backbone.errors import BenanzaError

AT_ONCE = 512
"""Spans of a request, as many as the SDK's own processor takes by default."""

SAMPLED = TraceFlags(TraceFlags.SAMPLED)


def export(trace: SpanTrace, exporter: SpanExporter | None = None) -> None:
    """Gives the trace to an exporter, by default to OTLP's over HTTP, which goes by the standard
    variables `OTEL_EXPORTER_OTLP_…`. Raises `BenanzaError` if it doesn't take it.
    """
    exporter = exporter or OTLPSpanExporter()
    spans = sdk_spans(trace)
    for start in range(0, len(spans), AT_ONCE):
        if exporter.export(spans[start : start + AT_ONCE]) is not SpanExportResult.SUCCESS:
            raise BenanzaError(
                "no OpenTelemetry collector took the trace: start one that receives OTLP over "
                "HTTP, name it in OTEL_EXPORTER_OTLP_ENDPOINT, or unset that"
            )


def sdk_spans(trace: SpanTrace) -> list[ReadableSpan]:
    """The spans, with the ids that they have. The first has the links."""
    resource = _resource()
    scope = InstrumentationScope("benanza")
    links = [Link(_context(other, span_id(other))) for other in trace.links]
    return [
        ReadableSpan(
            span.name,
            context=_context(trace.trace_id, span.span_id),
            parent=_context(trace.trace_id, span.parent) if span.parent else None,
            resource=resource,
            attributes={"benanza.track": span.track, **span.attributes},
            links=() if number else links,
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=scope,
        )
        for number, span in enumerate(trace.spans)
    ]


def _context(trace_id: str, span: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span, 16), is_remote=False, trace_flags=SAMPLED)


def _resource() -> Resource:
    """What `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` say, or Benanza."""
    said = Resource.create()
    unnamed = str(said.attributes[SERVICE_NAME]).startswith("unknown_service")
    return said.merge(Resource({SERVICE_NAME: "benanza"})) if unnamed else said
