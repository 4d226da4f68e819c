"""The unique layers that are known, from what the store holds."""

from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from benanza.looking.explain import known_explanations
from benanza.looking.layers import first, known_layers
from benanza.request import BoundPolicy
from benanza.results.inspect import KnownLayer, LayerTime
from benanza_analyzer.measurements import Measurements, bests
from benanza_backbone import settings
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.settings import Settings
from benanza_schemas.events import MARK, AnyEvent, BenchmarkRequested, event_id, recording_of
from benanza_schemas.identity import fingerprint
from benanza_schemas.vocabulary import CacheState, StoppedBy
from tests.backbone.conftest import copy_empty_store
from tests.backbone.sample_events import (
    CHECKPOINT,
    CONV_ID,
    CONV_MEASURED,
    CONV_RELU,
    CONV_RELU_ID,
    EVERY_KIND,
    GROUP_MEASURED,
    MODEL,
    OTHER_SYSTEM,
    RELU_ID,
    RELU_MEASURED,
    REQUESTED,
    SYSTEM,
    SYSTEM_MEASURED,
    after,
    elsewhere,
    failed,
    measured,
    variant,
)

pytestmark = pytest.mark.integration

SAME = replace(CHECKPOINT, event_id="5" * 32, model_id="5" * 32, name="Fine-tuned")
"""Another model of the same architecture."""

OTHER = replace(
    MODEL,
    event_id="6" * 32,
    model_id="6" * 32,
    architecture_id="6" * 32,
    name="Other",
    sha256="7" * 64,
    layers=MODEL.layers[1:2],
    edges=(),
    groups=(),
)
"""A model of another architecture, with the Relu alone."""

NETWORK = replace(CONV_RELU, execution="network")
NETWORK_ID = fingerprint(NETWORK)
NETWORK_REQUESTED = BenchmarkRequested(
    event_id=event_id("BenchmarkRequested", NETWORK_ID), fingerprint=NETWORK_ID, layer=NETWORK
)


@pytest.fixture
def installed(tmp_path: Path) -> Settings:
    """Over Kafka, where the store is all that is asked."""
    dsn = copy_empty_store(tmp_path / "clickhouse")
    return settings.load({"BENANZA_KAFKA": "127.0.0.1:9", "BENANZA_CLICKHOUSE": dsn})


def stored(installed: Settings, *events: AnyEvent) -> Settings:
    with Store.open(installed.clickhouse) as store:
        store.insert(events)
    return installed


def layers(installed: Settings, *models: str) -> dict[str, KnownLayer]:
    return {each.fingerprint: each for each in known_layers(installed, models, ()).layers}


def time_of(layer: KnownLayer) -> LayerTime:
    (time,) = layer.times
    return time


def test_layers_have_times_or_the_reason_why_not(installed: Settings) -> None:
    """As the bound takes them; a view and a skipped layer are no layers to measure."""
    found = layers(stored(installed, *EVERY_KIND))
    assert list(found) == [CONV_ID, RELU_ID, CONV_RELU_ID]
    assert [each.title for each in found.values()] == ["Conv", "Relu", "Conv+Relu"]
    assert [each.kind for each in found.values()] == ["layer", "layer", "group"]
    assert [each.uses for each in found.values()] == [1, 2, 1]
    assert {(each.models, each.architectures) for each in found.values()} == {(1, 1)}
    assert {each.outputs for each in found.values()} == {((1, 4, 6, 6),)}
    conv, relu, group = map(time_of, found.values())
    assert (conv.us, conv.iqr_us, conv.library, conv.algorithm) == (
        10.25, 0.6, "onnxruntime", "gemm",
    )  # fmt: skip
    assert (conv.system, conv.runtime) == ("Some CPU", "onnxruntime")
    assert (conv.system_id, conv.precision) == (SYSTEM.system_id, "fp32")
    assert relu.us == 2.5
    assert (group.us, group.library, group.failure) == (None, "", "the runtime can't fuse it")
    assert conv.failure == relu.failure == ""


def test_models_that_share_an_architecture_count_one_by_one(installed: Settings) -> None:
    found = layers(stored(installed, *EVERY_KIND, SAME, OTHER))
    counted = [(each.models, each.architectures, each.uses) for each in found.values()]
    assert list(found) == [CONV_ID, RELU_ID, CONV_RELU_ID], "20.5 µs in all and 12.5 µs"
    assert counted == [(2, 1, 2), (3, 2, 5), (2, 1, 2)]
    (only,) = layers(installed, "Other").values()
    assert (only.fingerprint, only.models, only.uses) == (RELU_ID, 1, 1)
    both = layers(installed, "Fine-tuned", OTHER.model_id[:8])
    assert [each.uses for each in both.values()] == [1, 3, 1]


def test_what_they_cost_in_all_sorts_them(installed: Settings) -> None:
    slow = measured(RELU_ID, variant("default", 5.5), at=2)
    found = layers(stored(installed, MODEL, *REQUESTED, CONV_MEASURED, slow))
    assert list(found) == [RELU_ID, CONV_ID, CONV_RELU_ID]
    assert list(layers(installed)) == list(found)
    every = known_layers(installed, [], ())
    assert first(every, 2).layers == every.layers[:2]


def test_nothing_of_a_model_is_measured_yet(installed: Settings) -> None:
    """Before dedupe has made jobs, too."""
    found = layers(stored(installed, MODEL))
    assert {each.title for each in found.values()} == {"Conv", "Relu", "conv"}
    assert {each.times for each in found.values()} == {()}
    found = layers(stored(installed, *REQUESTED))
    assert {each.title for each in found.values()} == {"Conv", "Relu", "Conv+Relu"}
    assert {each.times for each in found.values()} == {()}


def test_a_layer_waits_where_others_were_tried(installed: Settings) -> None:
    at_fp16 = replace(RELU_MEASURED, event_id="7" * 32, precision="fp16")
    there = elsewhere(GROUP_MEASURED)
    described = replace(SYSTEM_MEASURED, event_id="8" * 32, system=OTHER_SYSTEM)
    stored(installed, MODEL, *REQUESTED, SYSTEM_MEASURED, described, CONV_MEASURED, at_fp16, there)
    found = layers(installed)
    here, other = SYSTEM.system_id, OTHER_SYSTEM.system_id
    places = {(here, "fp16"), (here, "fp32"), (other, "fp32")}
    for layer in found.values():
        assert len(layer.times) == len(places)
        assert {(each.system_id, each.precision) for each in layer.times} == places
    waiting = [(each.us, each.library, each.failure) for each in found[RELU_ID].times]
    assert sorted(map(str, waiting)) == [
        "(2.5, 'onnxruntime', '')",
        "(None, '', '')",
        "(None, '', '')",
    ]
    (fp16,) = (each for each in known_layers(installed, [], ["fp16"]).layers if each.times[0].us)
    assert fp16.fingerprint == RELU_ID
    assert {each.precision for each in fp16.times} == {"fp16"}


ODD = (
    (variant("gemm", 9.0, cache=CacheState.INTERLEAVED),),
    (replace(variant("direct", 1.0), stopped_by=StoppedBy.PRUNED), variant("gemm", 4.0)),
    (replace(variant("direct", 1.0), stopped_by=StoppedBy.PRUNED),),
    (failed("direct", "no memory"), failed("gemm", "no memory"), failed("gemm", "no memory")),
    (replace(variant("a", 4.0), iqr_us=0.5, layout="NHWC"), variant("b", 4.0)),
)


def test_times_and_reasons_are_the_analyzers(installed: Settings) -> None:
    """Of several measurements, of which some are stored twice, and some were imported."""
    again = replace(GROUP_MEASURED, fingerprint=CONV_ID, measured_at=after(-9))
    imported = {MARK: "a" * 64}
    stored(installed, MODEL, again)
    for tried, marks in product(ODD, ({}, imported)):
        event = replace(CONV_MEASURED, variants=tried)
        again = replace(again, environment=marks)
        with Store.open(installed.clickhouse) as store:
            store.query("TRUNCATE TABLE measurements")
            store.insert([again, event])
            store.insert([event])
        known = Measurements()
        for each in (event, again):
            known.add(1, bests(each), each.measured_at, recording_of(each))
        found = time_of(layers(installed)[CONV_ID])
        if found.us is None:
            assert found.failure == known.why_missing(1)
        else:
            assert (found.us, found.iqr_us) == (known.median_us[0, 1], known.iqr_us[0, 1])
            assert found.failure == ""


def test_networks_are_timed_in_company_and_counted_in_no_model(installed: Settings) -> None:
    in_company = variant("one by one", 90.0, cache=CacheState.INTERLEAVED)
    network = replace(measured(NETWORK_ID, in_company, at=4), system=OTHER_SYSTEM)
    stored(installed, *EVERY_KIND, NETWORK_REQUESTED, network)
    found = layers(installed)
    assert list(found) == [CONV_ID, RELU_ID, NETWORK_ID, CONV_RELU_ID]
    layer = found[NETWORK_ID]
    assert (layer.kind, layer.title) == ("network", "Conv+Relu")
    assert layer.models == layer.architectures == layer.uses == 0
    assert (time_of(layer).us, time_of(layer).system_id) == (90.0, OTHER_SYSTEM.system_id)
    assert time_of(found[CONV_ID]).system_id == SYSTEM.system_id, "it doesn't wait elsewhere"
    assert NETWORK_ID not in layers(installed, "Net")


def test_a_layer_of_one_model_that_is_a_group_of_another_is_a_layer(installed: Settings) -> None:
    """A convolution with the Pad before it is measured as one that pads by itself."""
    padded = replace(MODEL.groups[0], fingerprint=CONV_ID)
    stored(installed, replace(OTHER, groups=(padded,)), *REQUESTED)
    assert {each.fingerprint: each.kind for each in layers(installed).values()} == {
        RELU_ID: "layer",
        CONV_ID: "group",
    }
    found = layers(stored(installed, MODEL))
    assert (found[CONV_ID].kind, found[CONV_ID].models, found[CONV_ID].uses) == ("layer", 2, 2)


def test_where_nothing_is_ingested_there_are_no_layers(installed: Settings) -> None:
    assert known_layers(stored(installed), [], ()).layers == ()


def test_the_best_call_is_that_which_explain_names(installed: Settings) -> None:
    found = layers(stored(installed, *EVERY_KIND))
    policy = BoundPolicy(fusion=False)
    (explanation,) = known_explanations(installed, ["Net"], policy, {}).explanations
    calls = [call for call in explanation.calls if call.us]
    assert {call.fingerprint for call in calls} == {CONV_ID, RELU_ID}
    for call in calls:
        time = time_of(found[call.fingerprint])
        assert (time.us, time.iqr_us) == (call.us, call.iqr_us)
        assert (time.library, time.algorithm, time.layout) == (
            call.library, call.algorithm, call.layout,
        )  # fmt: skip
