"""Traces of runs, as a collector receives them."""

from collections.abc import Iterator

import msgspec
import pytest

from benanza.profiling.otlp import PATH, send_traces
from benanza.results.profile import ProfiledKernel
from benanza_backbone.errors import BenanzaError
from tests.benanza.render.answers.test_profile import CALLS, PROFILE
from tests.benanza.spans.collector import Collector, collecting

pytestmark = pytest.mark.integration

KERNEL = ProfiledKernel(name="implicit_gemm", start_us=4.0, us=50.0)
RUN = msgspec.structs.replace(
    PROFILE, calls=(CALLS[0], msgspec.structs.replace(CALLS[1], kernels=(KERNEL,)))
)


@pytest.fixture
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    with collecting(getattr(request, "param", 200)) as server:
        yield server


def test_calls_are_within_their_run_and_kernels_within_their_call(collector: Collector) -> None:
    send_traces([RUN], collector.address)
    ((path, request),) = collector.received
    assert path == PATH
    (resource,) = request.resource_spans
    spans = {span.name: span for scope in resource.scope_spans for span in scope.spans}
    run, kernel = spans["net"], spans["implicit_gemm"]
    call = spans[CALLS[1].op]
    assert run.parent_span_id == b""
    assert call.parent_span_id == run.span_id
    assert kernel.parent_span_id == call.span_id
    assert len({span.trace_id for span in spans.values()}) == 1
    assert run.start_time_unix_nano == RUN.profiled_at.timestamp() * 1e9
    assert run.end_time_unix_nano - run.start_time_unix_nano == 110_000
    assert kernel.start_time_unix_nano - run.start_time_unix_nano == 4_000
    assert kernel.end_time_unix_nano - kernel.start_time_unix_nano == 50_000


def test_each_run_is_a_trace_and_one_without_calls_is_none(collector: Collector) -> None:
    captured = msgspec.structs.replace(PROFILE, looked_at_us=None, calls=())
    send_traces([RUN, captured, RUN], collector.address)
    ((_, request),) = collector.received
    spans = [
        span
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    assert len({span.trace_id for span in spans}) == 2
    assert sum(span.name == "net" for span in spans) == 2


@pytest.mark.parametrize("collector", [400], indirect=True)
def test_a_collector_that_refuses_it_is_named_and_nothing_else_said(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(BenanzaError, match=rf"no OpenTelemetry collector .*{collector.address}"):
        send_traces([RUN], collector.address)
    assert not caplog.records


def test_variables_of_other_traces_leave_nothing_out(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    send_traces([RUN], collector.address)
    assert len(collector.received) == 1
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(BenanzaError, match="unset OTEL_SDK_DISABLED"):
        send_traces([RUN], collector.address)


def test_without_calls_there_is_nothing_to_send(collector: Collector) -> None:
    captured = msgspec.structs.replace(PROFILE, looked_at_us=None, calls=())
    with pytest.raises(BenanzaError, match="nothing to send"):
        send_traces([captured], collector.address)
    assert collector.received == []


def test_an_address_without_a_scheme_is_refused() -> None:
    with pytest.raises(BenanzaError, match="localhost:4318 is no address such as http://"):
        send_traces([RUN], "localhost:4318")
