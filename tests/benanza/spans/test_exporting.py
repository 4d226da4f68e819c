"""When traces are exported, and what OpenTelemetry's variables say of it."""

import subprocess
import sys

import pytest

from benanza.spans.exporting import export_asked, is_on
from benanza.spans.trace import SpanTrace, TraceSpan, span_id, within
from benanza_backbone.errors import BenanzaError

COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}
TRACE = SpanTrace("a" * 32, (TraceSpan(span_id("a"), "", "all", 0, 10, "here"),))


@pytest.mark.parametrize(
    ("environ", "on"),
    [
        ({}, False),
        (COLLECTOR, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({**COLLECTOR, "OTEL_TRACES_EXPORTER": "none"}, False),
        ({**COLLECTOR, "OTEL_TRACES_EXPORTER": "console"}, False),
        ({**COLLECTOR, "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_standard_variables_switch_it_on(environ: dict[str, str], on: bool) -> None:
    assert is_on(environ) is on


def test_another_protocol_is_refused() -> None:
    with pytest.raises(BenanzaError, match=r"OTLP_PROTOCOL is grpc; traces are sent as http/prot"):
        export_asked(TRACE, {**COLLECTOR, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})


def test_nothing_is_imported_where_it_is_not_asked_for() -> None:
    program = (
        "import sys, os, benanza.spans.output as output\n"
        "made = output.TraceOutput(None, {})\n"
        "made.tell(None); made.export()\n"
        "assert not [name for name in sys.modules if 'opentelemetry' in name]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_a_profiler_s_clock_puts_outside_of_its_parent_is_cut() -> None:
    around = TraceSpan("1" * 16, "", "call", 100, 200, "here")
    before, across, after = (
        within(TraceSpan("2" * 16, around.span_id, "op", *times, "here"), around)
        for times in ((80, 90), (90, 150), (190, 230))
    )
    assert (before.start_ns, before.end_ns) == (100, 100)
    assert (across.start_ns, across.end_ns) == (100, 150)
    assert (after.start_ns, after.end_ns) == (190, 200)
