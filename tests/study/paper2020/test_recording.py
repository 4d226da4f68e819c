"""The published results as measurements."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_schemas.events import LayerMeasured
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Layer
from study.paper2020.recording import NO_BENCHMARK, Recorded2020, recorded, system_of
from study.paper2020.results import ResultsFile, read_results
from tests.ingest.onnx_text import extracted
from tests.study.paper2020.excerpts import ALGORITHMS, FASTEST

AT = datetime(2019, 10, 6, tzinfo=UTC)
RESNET50, SHUFFLENET = read_results(ALGORITHMS), read_results(FASTEST)

BIASED = """
m (float[1,64,56,56] x, float[256,64,1,1] w, float[256] b) => (y) { y = Conv(x, w, b) }
"""
RELU = "m (float[1,256,56,56] x) => (y) { y = Relu(x) }"
LARGER = "m (float[1,256,57,57] x) => (y) { y = Relu(x) }"
FUSED = """
m (float[1,64,56,56] x, float[256,64,1,1] w, float[256] b) => (y) {
    c = Conv(x, w, b)
    y = Relu(c)
}
"""


def layers(*texts: str) -> dict[str, Layer]:
    found: dict[str, Layer] = {}
    for text in texts:
        model = extracted(text, opset=9)
        found |= {each.fingerprint: each.layer for each in model.layers if each.layer is not None}
        found |= {each.fingerprint: each.layer for each in model.groups}
    return found


def of(given: Mapping[str, Layer], *sources: list[ResultsFile]) -> Recorded2020:
    results = [each for source in sources for each in source]
    return recorded(given, sources, system_of(results, "430.26"), AT)


def only(found: Recorded2020) -> LayerMeasured:
    (event,) = found.events
    return event


def test_the_system_is_that_of_the_results() -> None:
    system = system_of([RESNET50, SHUFFLENET], "430.26")
    assert (system.accelerator, system.driver) == ("NVIDIA Tesla V100-SXM2-16GB", "430.26")
    assert (system.cuda, system.cudnn, system.cublas) == ("10.1", "7.6.3", "10.1")


def test_results_of_two_systems_make_no_recording() -> None:
    other = SHUFFLENET._replace(versions={**SHUFFLENET.versions, "cudnn_version": "7.6.4"})
    with pytest.raises(BenanzaError, match="several systems"):
        system_of([RESNET50, other], "430.26")


def test_a_layer_of_two_calls_takes_both() -> None:
    event = only(of(layers(BIASED), [RESNET50]))
    timed = {each.algorithm: each.median_us for each in event.variants if not each.failure}
    assert timed["CONV_FWD IMPLICIT_GEMM + ADD_TENSOR"] == pytest.approx(30.988414 + 13.678442)
    assert len(timed) == 5
    assert [each.algorithm for each in event.variants if each.chosen_by_heuristic] == [
        "CONV_FWD IMPLICIT_PRECOMP_GEMM + ADD_TENSOR"
    ]
    failed = [each for each in event.variants if each.failure]
    assert len(failed) == 3
    assert all("NOT_SUPPORTED" in each.failure for each in failed)


def test_a_call_that_failed_in_all_modes_fails_the_layer() -> None:
    failed = RESNET50._replace(
        times=tuple(
            each._replace(us=None, failure="out of memory", mode=mode)
            if each.call.name == "ADD_TENSOR"
            else each
            for each in RESNET50.times
            for mode in (each.mode, f"{each.mode} again")
        )
    )
    event = only(of(layers(BIASED), [failed]))
    assert "out of memory" in {each.failure for each in event.variants}
    assert all(each.failure for each in event.variants)


def test_all_modes_of_a_call_are_there_under_their_names() -> None:
    event = only(of(layers(RELU), [RESNET50]))
    assert [each.algorithm for each in event.variants] == [
        "ACTIVATION_FWD RELU",
        "ACTIVATION_FWD CLIPPED_RELU",
    ]


def test_several_runs_of_a_benchmark_are_samples() -> None:
    found = of(layers(FUSED), [RESNET50])
    (group,) = (event for event in found.events if "BIAS" in event.variants[0].algorithm)
    (variant,) = group.variants
    assert variant.samples_us == pytest.approx((31.500352, 31.344999, 31.462498))
    assert variant.minimum_us == pytest.approx(31.344999)
    assert variant.median_us == pytest.approx(31.462498)
    assert variant.iqr_us == pytest.approx((31.500352 - 31.344999) / 2, abs=1e-5)


def test_the_same_benchmark_in_two_files_counts_once() -> None:
    once, twice = (only(of(layers(RELU), [RESNET50] * times)) for times in (1, 2))
    assert once.variants == twice.variants


def test_times_are_those_of_the_first_source_that_has_the_layer() -> None:
    slower = RESNET50._replace(
        times=tuple(
            each._replace(us=None if each.us is None else 2 * each.us) for each in RESNET50.times
        )
    )
    first = only(of(layers(RELU), [SHUFFLENET], [slower], [RESNET50]))
    assert first.variants == only(of(layers(RELU), [slower])).variants


def test_what_has_no_benchmark_is_named_and_what_is_idle_counted() -> None:
    found = of(layers(LARGER), [SHUFFLENET])
    assert only(found).failure == NO_BENCHMARK
    assert found.unmatched == {NO_BENCHMARK: 1}
    assert found.idle == {
        **dict.fromkeys(("CONV_FWD", "ADD_TENSOR", "BATCHNORM_FWD_INFERENCE"), 1),
        **dict.fromkeys(("ACTIVATION_FWD", "GEMV_FWD", "SOFTMAX_FWD"), 1),
    }


def test_a_group_without_a_benchmark_needs_no_event() -> None:
    group = next(layer for layer in layers(FUSED).values() if len(layer.operators) > 1)
    found = of({fingerprint(group): group}, [SHUFFLENET])
    assert not found.events
    assert found.unmatched == {NO_BENCHMARK: 1}


def test_half_precision_is_told_apart() -> None:
    half = [each._replace(precision="fp16") for each in RESNET50.times]
    both = RESNET50._replace(times=(*RESNET50.times, *half))
    found = of(layers(RELU), [both])
    assert [event.precision for event in found.events] == ["fp32", "fp16"]
