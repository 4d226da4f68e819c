"""What the services did for a model that was measured in the embedded pipeline."""

from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from benanza.agents.core import EvaluationOutcome, evaluated_on, taken
from benanza.cli import cli
from benanza.commands.exporting import export_evaluation, export_traces
from benanza.installation.configured import configured_log
from benanza.settings import load
from benanza.spans.of_requests import on_system, request_traces
from benanza.spans.of_services import service_traces
from benanza.spans.records import EPOCH, MICROSECOND, results_of, written
from benanza.spans.trace import SpanTrace, span_id
from benanza_backbone.clock import now
from benanza_backbone.event_log.event_log import EventLog, Message
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import (
    BoundUpdated,
    CheckpointIngested,
    EvaluationTaken,
    LayerMeasured,
    ModelPublished,
    event_id,
)
from benanza_schemas.topics import (
    BOUNDS,
    CHECKPOINTS,
    EVALUATED,
    GRAPHS,
    JOBS,
    LAYERS,
    MODELS,
    RESULTS,
)
from tests.benanza.agents.samples import agent, requested, system
from tests.benanza.spans.checking import exported, slices
from tests.benanza.spans.collector import collecting
from tests.ingest.onnx_text import content

pytestmark = pytest.mark.integration

MODEL = "squeezenet"


def trace_of(log: EventLog) -> SpanTrace:
    (found,) = service_traces(log, [MODEL])
    return found


def test_from_publication_to_bound_is_one_trace(data: Path) -> None:
    with configured_log(load(data)) as log:
        trace = trace_of(log)
    exported(trace)
    slices(trace)
    root, *spans = trace.spans
    assert root.span_id == span_id(trace.trace_id)
    assert root.attributes["benanza.layers_of_others"] == 0
    bound_us = root.attributes["benanza.publish_to_bound_us"]
    assert isinstance(bound_us, float)
    assert 0 < bound_us <= (root.end_ns - root.start_ns) / 1_000
    by_id = {span.span_id: span for span in trace.spans}
    of_root = [span for span in spans if span.parent == root.span_id]
    layers = [span for span in of_root if span.track == "layers"]
    assert len(layers) == root.attributes["benanza.layers"]
    assert {span.name.split(",")[0] for span in of_root if span not in layers} == {
        "ingest",
        "analyzer",
    }
    for name, around in (("dedupe", "layers"), ("runner, fp32", "layers")):
        found = [span for span in spans if span.name == name]
        assert {by_id[span.parent].track for span in found} == {around}
        # A layer whose measurement was disturbed is measured again, with a span of its own.
        assert {span.parent for span in found} == {layer.span_id for layer in layers}
    runners = {span.span_id: span for span in spans if span.name == "runner, fp32"}
    measuring = sorted((span for span in spans if span.name == "measuring"), key=lambda s: s.end_ns)
    assert {span.parent for span in measuring} == runners.keys()
    for earlier, later in pairwise(measuring):
        assert earlier.end_ns <= later.start_ns  # one after the other, on one device


def test_the_sink_ends_what_it_stored(data: Path) -> None:
    """Half of the bounds are stored a second later, and one before it was written, by its clock."""
    with configured_log(load(data)) as log:
        bounds = list(written(log, BOUNDS, BoundUpdated).values())[-4:]
        stored = {each.event.event_id: seconds(each.at_ns, 1) for each in bounds[:2]}
        stored[bounds[2].event.event_id] = seconds(bounds[2].at_ns, -1)
        (trace,) = service_traces(log, [MODEL], lambda _: stored)
    exported(trace)
    sink = [span for span in trace.spans if span.track == "sink"]
    assert [span.end_ns - span.start_ns for span in sink] == [10**9, 10**9, 0]
    assert [span.start_ns for span in sink] == [each.at_ns for each in bounds[:3]]
    assert {span.name.split(",")[0] for span in sink} == {"sink"}
    assert trace.spans[0].end_ns >= max(span.end_ns for span in sink)


def seconds(at_ns: int, later: int) -> datetime:
    return EPOCH + MICROSECOND * (at_ns // 1_000) + timedelta(seconds=later)


def test_what_is_delivered_again_is_no_second_span(data: Path) -> None:
    with configured_log(load(data)) as log:
        once = trace_of(log)
        for topic in (MODELS, GRAPHS, CHECKPOINTS, LAYERS, JOBS, RESULTS, BOUNDS):
            log.append([Message(topic, r.key, r.value) for r in list(log.records(topic))])
        assert trace_of(log) == once


def test_a_model_whose_bound_was_known_has_it_once_ingested(data: Path) -> None:
    with configured_log(load(data)) as log:
        (published,) = written(log, MODELS, ModelPublished).values()
        (checkpoint,) = written(log, CHECKPOINTS, CheckpointIngested).values()
        again, model = event_id("again"), event_id("another")
        log.append([as_message(replace(published.event, event_id=again))])
        log.append(
            [
                as_message(
                    replace(checkpoint.event, event_id=model, model_id=model, published_id=again)
                )
            ]
        )
        first, trace = service_traces(log, [MODEL, model])
    assert first.spans[0].attributes["benanza.layers_of_others"] == 0
    root, ingest = trace.spans
    assert ingest.name == "ingest"
    ingest_us = (ingest.end_ns - ingest.start_ns) / 1_000
    assert root.attributes["benanza.publish_to_bound_us"] == ingest_us > 0


def test_measuring_begins_with_the_result_before_of_whatever_layer(data: Path) -> None:
    with configured_log(load(data)) as log:
        results = list(written(log, RESULTS, LayerMeasured).values())
        before, last = sorted(results, key=lambda result: result.at_ns)[-2:]
        found, before_ns = results_of(log, {last.event.fingerprint})
    assert {result.event.fingerprint for result in found} == {last.event.fingerprint}
    assert before_ns.keys() == {result.event.event_id for result in found}
    assert before_ns[last.event.event_id] == before.at_ns


def test_status_writes_it_and_says_how_long_it_took(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    asked = ["status", "zoo:squeezenet", "--data", str(data), "--trace", str(path)]
    done = CliRunner().invoke(cli, asked)
    assert done.exit_code == 0
    assert "services: squeezenet, the first full bound after " in done.stderr
    assert path.read_bytes().startswith(b'{"traceEvents":[{')
    done = CliRunner().invoke(cli, ["status", "--data", str(data), "--trace", str(path)])
    assert "--trace is of a MODEL: name one" in done.stderr
    other = tmp_path / "other.onnx"
    other.write_bytes(content("g (float[1, 4] x) => (float[1, 4] y) { y = Relu(x) }"))
    asked = ["status", str(other), "--data", str(data), "--trace", str(tmp_path / "none.json")]
    done = CliRunner().invoke(cli, asked)
    assert done.exit_code == 1
    assert f"{other} is not ingested yet, so it has no trace" in done.stderr
    assert "ingested" in done.stdout
    assert not (tmp_path / "none.json").exists()


def test_an_evaluation_by_an_agent_is_in_the_trace_of_its_request(tmp_path: Path) -> None:
    on = system()
    asked, by = requested(on), agent("a", on)
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        for event in (
            asked,
            taken(asked, by, now()),
            taken(asked, agent("b", on), now()),
            evaluated_on(asked, by, EvaluationOutcome({"p99_us": 5.0}), now()),
        ):
            log.append([as_message(event)] * 2)
        (trace,) = request_traces(log, "tiny")
        assert [*request_traces(log, asked.event_id)] == [trace]
        begun, _ = written(log, EVALUATED, EvaluationTaken).values()
    exported(trace)
    root, evaluation = trace.spans
    assert trace.trace_id == asked.event_id
    assert trace.links == (asked.model_id,)
    assert evaluation.span_id == on_system(asked.event_id, on.system_id)
    assert root.name == "evaluate on 1 system: tiny"
    assert evaluation.start_ns == begun.at_ns  # that of the agent whose result it is
    assert root.start_ns < evaluation.start_ns < evaluation.end_ns == root.end_ns


def test_a_run_exports_it_where_a_collector_is_named(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load(data)
    with configured_log(settings) as log:
        trace = trace_of(log)
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        export_traces(settings, [trace.trace_id, trace.trace_id])
    assert {span.span_id.hex() for span in collector.spans()} == {s.span_id for s in trace.spans}
    assert len(collector.spans()) == len(trace.spans)
    asked = requested(system())
    with configured_log(settings) as log:
        log.append([as_message(asked)])
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
        export_evaluation(settings, asked.event_id)
    assert [span.trace_id.hex() for span in collector.spans()] == [asked.event_id]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    export_traces(settings, [trace.trace_id])
    said = capsys.readouterr().err
    assert said.startswith("warning: OTEL_EXPORTER_OTLP_PROTOCOL is grpc; ")
