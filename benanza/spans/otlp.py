"""Traces as OpenTelemetry's SDK has them, for its exporters. It needs the extra `otlp`."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from benanza.spans.trace import SpanTrace, span_id
from benanza_backbone.errors import BenanzaError
from benanza_runner.reasons import short_reason

AT_ONCE = 512
"""Spans of a request, as many as the SDK's own processor takes by default."""

SAMPLED = TraceFlags(TraceFlags.SAMPLED)


EXPORTERS_LOG = logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter")

_REFUSED = re.compile(r"code: (\d+), reason: (.+)")
_TRANSIENT = re.compile(r"Transient error (.+) encountered")


def export(trace: SpanTrace, exporter: SpanExporter | None = None) -> None:
    """Gives the trace to an exporter, by default to OTLP's over HTTP, which goes by the standard
    variables `OTEL_EXPORTER_OTLP_…`. Raises `BenanzaError`, of one line, if it doesn't take it, and
    if there is none with these variables.
    """
    exporter = exporter or _exporter()
    spans = sdk_spans(trace)
    for start in range(0, len(spans), AT_ONCE):
        with heard() as said:
            taken = exporter.export(spans[start : start + AT_ONCE])
        if taken is not SpanExportResult.SUCCESS:
            raise BenanzaError(_failure(said))


def _exporter() -> SpanExporter:
    try:
        return OTLPSpanExporter()
    except Exception as error:  # each variable has errors of its own
        raise BenanzaError(
            "OpenTelemetry's exporter can't be made with its variables: "
            f"{short_reason(str(error))}; mend or unset them"
        ) from error


@contextmanager
def heard() -> Iterator[list[str]]:
    """What OTLP's exporter logs, which alone says why it failed; nobody else hears it."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    propagate, EXPORTERS_LOG.propagate = EXPORTERS_LOG.propagate, False
    EXPORTERS_LOG.addHandler(handler)
    try:
        yield said
    finally:
        EXPORTERS_LOG.removeHandler(handler)
        EXPORTERS_LOG.propagate = propagate


def _failure(said: list[str]) -> str:
    text = "\n".join(said)
    refused = _REFUSED.search(text)
    if refused:
        code, reason = refused.groups()
        return (
            f"the OpenTelemetry collector refused the trace ({code}, {short_reason(reason)}): "
            "OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS say where it goes, and "
            "with which credentials"
        )
    transient = _TRANSIENT.search(text)
    why = short_reason(transient.group(1) if transient else text)
    return (
        f"no OpenTelemetry collector took the trace{f' ({why})' if why else ''}: start one that "
        "receives OTLP over HTTP, name it in OTEL_EXPORTER_OTLP_ENDPOINT, or unset that"
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
            status=Status(StatusCode.ERROR, span.failure) if span.failure else Status(),
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
