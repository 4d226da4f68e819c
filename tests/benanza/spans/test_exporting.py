"""When traces are exported, and what OpenTelemetry's variables say of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benanza.spans.exporting import export_asked, is_on
from benanza.spans.output import TraceOutput
from benanza.spans.trace import SpanTrace, TraceSpan, span_id, within
from benanza_backbone.errors import BenanzaError
from tests.benanza.spans.collector import collecting

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


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(BenanzaError, match=r"ENDPOINT is no address such as .*: localhost:4318$"):
        export_asked(TRACE, {"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318"})


def test_a_collector_that_refuses_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with collecting(401) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        with pytest.raises(BenanzaError, match=r"refused the trace \(401, Unauthorized\): \S+"):
            export_asked(TRACE, {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.address})
    assert len(collector.received) == 1
    assert caplog.records == []


def test_variables_that_the_sdk_can_t_use_are_an_error_of_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER", "nobody")
    with pytest.raises(BenanzaError, match=r"'nobody' not found in .*; mend or unset them$"):
        export_asked(TRACE, COLLECTOR)


def test_nothing_is_imported_where_it_is_not_asked_for() -> None:
    program = (
        "import sys, os, benanza.spans.output as output\n"
        "made = output.TraceOutput(None, {})\n"
        "made.tell(None); made.export()\n"
        "assert not [name for name in sys.modules if 'opentelemetry' in name]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_file_is_written_when_all_is_there(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("of before")
    traces = TraceOutput(path, {})
    traces.tell(TRACE)
    traces.tell(TRACE._replace(trace_id="b" * 32))
    assert path.read_text() == "of before"
    traces.write()
    said = json.loads(path.read_text())["otherData"]["traces"]
    assert [trace["trace_id"] for trace in said] == ["a" * 32, "b" * 32]
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_profiler_s_clock_puts_outside_of_its_parent_is_cut() -> None:
    around = TraceSpan("1" * 16, "", "call", 100, 200, "here")
    before, across, after = (
        within(TraceSpan("2" * 16, around.span_id, "op", *times, "here"), around)
        for times in ((80, 90), (90, 150), (190, 230))
    )
    assert (before.start_ns, before.end_ns) == (100, 100)
    assert (across.start_ns, across.end_ns) == (100, 150)
    assert (after.start_ns, after.end_ns) == (190, 200)
