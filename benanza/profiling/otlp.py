"""Profiles as traces of OpenTelemetry, which a collector takes over OTLP.

Source: https://opentelemetry.io/docs/specs/otlp/. It needs the extra `otlp`.
"""

from collections.abc import Sequence
from datetime import datetime

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span, Tracer, set_span_in_context

from benanza.results.profile import ModelProfile, ProfiledCall
from benanza.spans.otlp import heard
from benanza_backbone.errors import BenanzaError

PATH = "/v1/traces"
SECONDS = 10.0
"""A collector that takes longer to answer is given up."""


def send_traces(profiles: Sequence[ModelProfile], endpoint: str) -> None:
    """Sends a trace for each run whose calls were timed: a span for the run, one within it for each
    call, and within that one for each kernel.

    `endpoint` is a collector's base address, such as `http://localhost:4318`. The trace begins when
    the run was profiled. Raises `BenanzaError` if the collector doesn't take it.
    """
    if not endpoint.startswith(("http://", "https://")):
        raise BenanzaError(f"{endpoint} is no address such as http://localhost:4318")
    address = endpoint.rstrip("/") + PATH
    timed = [profile for profile in profiles if profile.looked_at_us is not None]
    if not timed:
        raise BenanzaError("there is nothing to send: of no run were calls timed")
    memory = InMemorySpanExporter()
    # What was asked for is sent, whatever part of other traces is.
    resource = Resource.create({"service.name": "benanza"})
    provider = TracerProvider(sampler=ALWAYS_ON, resource=resource)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("benanza.profiling")
    for profile in timed:
        _run(tracer, profile, profile.looked_at_us or 0.0)
    spans = memory.get_finished_spans()
    if not spans:
        raise BenanzaError("OpenTelemetry's SDK is off; unset OTEL_SDK_DISABLED to send the trace")
    with heard():
        taken = OTLPSpanExporter(endpoint=address, timeout=SECONDS).export(spans)
    if taken is not SpanExportResult.SUCCESS:
        raise BenanzaError(
            f"no OpenTelemetry collector took the trace at {address}; start one there that "
            "receives OTLP over HTTP, or name another"
        )


def _run(tracer: Tracer, profile: ModelProfile, us: float) -> None:
    start_ns = _ns(profile.profiled_at)
    run = tracer.start_span(
        profile.model,
        start_time=start_ns,
        attributes={
            "benanza.batch": profile.batch,
            "benanza.precision": profile.precision,
            "benanza.framework": profile.framework,
            "benanza.configuration": profile.configuration,
            "benanza.device": profile.device,
        },
    )
    for call in profile.calls:
        _call(tracer, run, call, start_ns)
    run.end(start_ns + _whole_ns(us))


def _call(tracer: Tracer, run: Span, call: ProfiledCall, start_ns: int) -> None:
    begin_ns = start_ns + _whole_ns(call.start_us)
    span = tracer.start_span(
        call.op,
        set_span_in_context(run),
        start_time=begin_ns,
        attributes={"benanza.call": call.name, "benanza.layers": call.positions},
    )
    for kernel in call.kernels:
        at_ns = start_ns + _whole_ns(kernel.start_us)
        within = tracer.start_span(kernel.name, set_span_in_context(span), start_time=at_ns)
        within.end(at_ns + _whole_ns(kernel.us))
    span.end(begin_ns + _whole_ns(call.us))


def _ns(moment: datetime) -> int:
    return _whole_ns(moment.timestamp() * 1e6)


def _whole_ns(us: float) -> int:
    return round(us * 1_000)
