"""What became of the layers of a run's models."""

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from benanza.publishing.asked_models import asked_models, published_models
from benanza.request import RunRequest
from benanza.results.bounds import LayerCounts
from benanza.running.counting import benchmarked_layers, count_layers
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS
from benanza_ingest.limits import Limits
from benanza_ingest.published import ingest_published
from benanza_ingest.reading.source import FetchedModel
from benanza_schemas.events import (
    LayerMeasured,
    ModelIngested,
    System,
    Variant,
    event_id,
    identified,
)
from benanza_schemas.layer import Precision
from benanza_schemas.topics import RESULTS
from benchmarks.decoders.__main__ import small
from tests.ingest.onnx_text import content
from tests.ingest.test_core import events_of

HERE, ELSEWHERE = (
    identified(
        System(
            system_id="0" * 32,
            runtime="test",
            accelerator="",
            driver="",
            cuda="",
            cudnn="",
            cublas="",
            cpu=cpu,
            threads=1,
            libraries={},
            method="1",
        )
    )
    for cpu in ("here", "elsewhere")
)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with SqliteEventLog(tmp_path / "events.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def alexnet() -> ModelIngested:
    (asked,) = asked_models("zoo:alexnet", RunRequest(models=()), Limits())
    events = ingest_published(asked.event, Limits())
    (graph,) = [event for event in events if isinstance(event, ModelIngested)]
    return graph


def result(
    fingerprint: str, system: System = HERE, precision: Precision = "fp32", failure: str = ""
) -> LayerMeasured:
    good = Variant(
        library="test", algorithm="a", samples_us=(1.0,), minimum_us=1.0, median_us=1.0, iqr_us=0.0
    )
    return LayerMeasured(
        event_id=event_id("LayerMeasured", fingerprint, system.system_id, precision),
        fingerprint=fingerprint,
        system=system,
        precision=precision,
        measured_at=datetime(2026, 11, 21, tzinfo=UTC),
        variants=() if failure else (good,),
        failure=failure,
    )


def append(log: EventLog, *events: LayerMeasured) -> None:
    log.append([as_message(event) for event in events])


def test_layers_and_groups_are_counted_and_views_are_not(alexnet: ModelIngested) -> None:
    views = [use for use in alexnet.layers if alexnet.summaries[use.summary].kind == "view"]
    assert views
    expected = len(alexnet.layers) - len(views) + len(alexnet.groups)
    assert len(benchmarked_layers(alexnet)) == expected


def test_each_layer_is_known_or_benchmarked_or_failed(
    log: EventLog, alexnet: ModelIngested
) -> None:
    layers = list(dict.fromkeys(benchmarked_layers(alexnet)))
    append(log, result(layers[0]), result(layers[1]), result(layers[2], failure="too large"))
    append(log, result(layers[3], system=ELSEWHERE), result(event_id("another model's")))
    began = log.end_offsets(RESULTS)
    append(log, result(layers[1]), *map(result, layers[3:6]), result(layers[6], failure="lost"))
    append(log, result(layers[7], precision="fp16"))
    counts = count_layers(log, [alexnet], HERE.system_id, ["fp32"], began)
    total = len(benchmarked_layers(alexnet))
    assert counts == LayerCounts(
        models=1,
        total=total,
        unique=len(layers),
        unique_of_model=len(layers),
        of_one_model=len(layers),
        known=2,
        benchmarked=3,
        split=0,
        failed=2,
    )


def test_groups_that_are_no_single_call_are_no_failures(
    log: EventLog, alexnet: ModelIngested
) -> None:
    groups = list(dict.fromkeys(group.fingerprint for group in alexnet.groups))
    assert len(groups) > 3
    layer = next(each for each in benchmarked_layers(alexnet) if each not in groups)
    crashed = result(groups[0], failure="gave no result in 2 tries")
    append(log, msgspec.structs.replace(crashed, environment={"attempts": "2"}))
    for each in groups[1:]:
        split = result(each, failure="it runs as 2 calls")
        append(log, msgspec.structs.replace(split, environment={"attempts": "1"}))
    append(log, result(layer, failure="no kernel"), result(groups[1]))
    counts = count_layers(
        log, [alexnet], HERE.system_id, ["fp32"], dict.fromkeys(log.end_offsets(RESULTS), 0)
    )
    assert (counts.benchmarked, counts.split, counts.failed) == (1, len(groups) - 2, 2)


def test_a_layer_that_runs_in_place_of_equal_ones_may_fail(log: EventLog) -> None:
    """It is a group as well, which isn't why it fails."""
    (model,), _ = events_of(content("g (float[4] x) => (a, b) { a = Relu(x) b = Relu(x) }"))
    (group,) = (each for each in model.groups if each.rule == "once")
    failed = result(group.fingerprint, failure="no kernel")
    append(log, msgspec.structs.replace(failed, environment={"attempts": "1"}))
    counts = count_layers(
        log, [model], HERE.system_id, ["fp32"], dict.fromkeys(log.end_offsets(RESULTS), 0)
    )
    assert (counts.split, counts.failed) == (0, 1)


def test_each_precision_counts_by_itself(log: EventLog, alexnet: ModelIngested) -> None:
    layers = list(dict.fromkeys(benchmarked_layers(alexnet)))
    append(log, *map(result, layers))
    began = log.end_offsets(RESULTS)
    append(log, *(result(layer, precision="fp16", failure="no kernel") for layer in layers))
    counts = count_layers(log, [alexnet, alexnet], HERE.system_id, ["fp32", "fp16"], began)
    assert counts.unique == 2 * len(layers)
    assert (counts.known, counts.benchmarked) == (len(layers), 0)
    assert counts.split + counts.failed == len(layers)
    assert counts.total == 4 * len(benchmarked_layers(alexnet))
    assert (counts.models, counts.unique_of_model, counts.of_one_model) == (2, 2 * len(layers), 0)


def swept(**sizes: tuple[int, ...]) -> list[ModelIngested]:
    """The step of a decoder of today, of two layers, at these sizes."""
    llama = next(decoder for decoder in DECODERS if decoder.name.startswith("llama-3.2-1b"))
    step = build(small(llama)).SerializeToString()
    fetched = FetchedModel("step", "memory:step", step, sha256(step).hexdigest(), whole=True)
    request = RunRequest(
        (),
        dims={"sequence_length": 1},
        sweep=sizes,
        derived={"total_sequence_length": "past_sequence_length+1"},
    )
    return [
        event
        for published in published_models(fetched, request)
        for event in ingest_published(published, Limits())
        if isinstance(event, ModelIngested)
    ]


def test_longer_pasts_share_all_but_attention_and_the_mask(log: EventLog) -> None:
    """At each length: attention in place and with its states copied; the mask's sum, alone and
    with what follows it.
    """
    points = swept(batch_size=(1,), past_sequence_length=(1_000, 2_000, 4_000, 8_000))
    counts = count_layers(log, points, HERE.system_id, ["fp32"], log.end_offsets(RESULTS))
    assert counts.models == 4
    assert counts.of_one_model == 4 * 4
    assert counts.unique == counts.unique_of_model + 3 * 4
    assert counts.unique < 2 * counts.unique_of_model


def test_of_another_batch_size_every_layer_is_another(log: EventLog) -> None:
    points = swept(batch_size=(1, 8), past_sequence_length=(1_000,))
    counts = count_layers(log, points, HERE.system_id, ["fp32"], log.end_offsets(RESULTS))
    assert counts.unique == counts.of_one_model == 2 * counts.unique_of_model


def test_no_models_have_no_layers(log: EventLog) -> None:
    counts = count_layers(log, [], "", ["fp32"], log.end_offsets(RESULTS))
    assert set(counts.to_dict().values()) == {0}
