"""Networks on their way from a published model to its latency."""

import json
from pathlib import Path

import pytest

from benanza.installation.configured import known_store
from benanza.installation.embedded import drain, opened_log
from benanza.operating.progress_in_store import progress_in_store
from benanza.operating.status import status
from benanza.publishing.publish import PublishRequest, publish
from benanza.suites.import_results import import_results
from benanza.suites.latencies import constructed_latencies
from benanza_backbone.clock import now
from benanza_backbone.service.processor import as_message
from benanza_dedupe.step import dedupe_step
from benanza_ingest.limits import Limits
from benanza_ingest.step import ingest_step
from benanza_runner.core import Runner
from benanza_runner.onnxruntime.network_timer import FORMAT
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.codec import decode
from benanza_schemas.events import BenchmarkRequested
from benanza_schemas.topics import JOBS
from tests.benanza.data_folder import settings_in
from tests.ingest.onnx_text import content

TEXT = """
g (float[64, 64] x) => (float[64, 64] y) {
    a = Relu(x)
    b = Sigmoid(a)
    c = Relu(b)
    y = Sigmoid(c)
}
"""


@pytest.mark.integration
def test_a_model_published_with_a_granularity_has_a_latency(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    file.write_bytes(content(TEXT))
    settings = settings_in(tmp_path / "data")
    publish([str(file)], PublishRequest(), settings)
    publish([str(file)], PublishRequest(granularity=2), settings)
    with opened_log(settings) as log:
        with ingest_step(log, Limits(), now) as ingest:
            drain(ingest)
        with dedupe_step(log, now) as dedupe:
            drain(dedupe)
        jobs = [decode(record.value) for record in log.records(JOBS)]
        networks = [
            job
            for job in jobs
            if isinstance(job, BenchmarkRequested) and job.layer.execution == "network"
        ]
        assert [job.layer.title() for job in networks] == ["Relu+Sigmoid"]
        runtime = OnnxRuntime(threads=1, libraries=())
        runner = Runner(runtime, ["fp32"], now)
        measured = [event for job in networks for event in runner.handle(job)]
        # Without its ceilings, which take long to measure.
        described = Runner(runtime, [], now).describe()
        log.append([as_message(described), *map(as_message, measured)])
    (found,) = constructed_latencies([str(file)], 2, None, {}, settings).latencies
    (variant,) = measured[0].variants
    assert variant.median_us is not None
    assert found.sequential_us == pytest.approx(2 * variant.median_us)
    assert (found.sequences, found.unique, found.threads) == (2, 1, 1)
    assert found.cpu == runner.system.cpu
    # Its only time is in company, and it counts as done: nobody is to measure it again.
    with known_store(settings) as store:
        assert store.failed_layers("", "") == {}
        (in_store,) = progress_in_store(store).runners
    (in_log,) = status(settings).runners
    assert (in_store.done, in_store.failed) == (in_log.done, in_log.failed) == (1, 0)


@pytest.mark.integration
def test_nothing_waits_where_only_a_suite_was_timed(tmp_path: Path) -> None:
    """Whether its networks were asked for, as by --granularity, or not."""
    file = tmp_path / "m.onnx"
    file.write_bytes(content(TEXT))
    settings = settings_in(tmp_path / "data")
    publish([str(file)], PublishRequest(granularity=2), settings)
    with opened_log(settings) as log:
        with ingest_step(log, Limits(), now) as ingest:
            drain(ingest)
        with dedupe_step(log, now) as dedupe:
            drain(dedupe)
        keys = [record.key.decode() for record in log.records(JOBS)]
    results = {
        "format": FORMAT,
        "threads": 1,
        "onnxruntime": "1.0",
        "measured_at": "2026-11-25T00:00:00Z",
    }
    for cpu, network in (("another CPU", keys[-1]), ("a third CPU", "0" * 32)):
        networks = {network: {"samples_us": [1.0, 2.0, 3.0]}}
        file.write_text(json.dumps(results | {"cpu": cpu, "networks": networks}))
        import_results(file, settings)
    (in_log,) = status(settings).runners
    with known_store(settings) as store:
        (in_store,) = progress_in_store(store).runners
    assert in_log == in_store
    assert (in_log.system, in_log.done, in_log.waiting) == ("another CPU", 1, 0)
