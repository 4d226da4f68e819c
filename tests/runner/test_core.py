"""Jobs to measurements."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from benanza_runner.core import Runner, in_tf32
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import BenchmarkRequested, Ceiling, event_id
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Layer, Precision
from tests.runner.fake_runtime import FakeRuntime, variant
from tests.runner.layers import conv_group, relu

START = datetime(2026, 1, 1, tzinfo=UTC)


class TickingClock:
    """A second goes by each time it is read."""

    def __init__(self) -> None:
        self.readings = 0

    def __call__(self) -> datetime:
        self.readings += 1
        return START + timedelta(seconds=self.readings)


def job(layer: Layer) -> BenchmarkRequested:
    found = fingerprint(layer)
    requested = event_id("BenchmarkRequested", found)
    return BenchmarkRequested(event_id=requested, fingerprint=found, layer=layer)


def runner(*precisions: Precision) -> Runner:
    return Runner(FakeRuntime(), precisions, TickingClock())


def test_a_job_is_measured_at_each_precision() -> None:
    request = job(conv_group(2, 4, "BatchNormalization", "Relu"))
    first, second = runner("fp32", "fp16").handle(request)
    assert (first.precision, second.precision) == ("fp32", "fp16")
    assert first.fingerprint == second.fingerprint == request.fingerprint
    assert first.system == FakeRuntime().system()
    assert first.variants == (variant(3.0),)
    assert first.failure == ""
    assert first.environment["process"].isdigit()
    assert (first.measured_at, second.measured_at) == (
        START + timedelta(seconds=1),
        START + timedelta(seconds=2),
    )


@pytest.mark.parametrize(
    ("layer", "accelerator", "shared"),
    [
        (relu(4), "paper GPU", True),
        (conv_group(2, 4, "Relu"), "paper GPU", False),
        (relu(4), "", False),  # a CPU has no TF32
    ],
)
def test_without_products_a_gpu_does_the_same_in_tf32_as_in_fp32(
    layer: Layer, accelerator: str, shared: bool
) -> None:
    request = job(layer)
    (measured,) = runner("fp32").handle(request)
    fp32 = replace(measured, system=replace(measured.system, accelerator=accelerator))
    found = in_tf32(request, fp32)
    assert (found is not None) == shared
    if found:
        assert replace(found, event_id=fp32.event_id, precision="fp32") == fp32
        ids = request.event_id, fp32.system.system_id
        assert found.event_id == event_id("LayerMeasured", *ids, "tf32")


def test_a_failure_is_an_event_too() -> None:
    (event,) = runner("bf16").handle(job(relu(4)))
    assert event.failure == "paper has no bf16"
    assert event.variants == ()


def test_the_same_job_gives_the_same_ids() -> None:
    request = job(relu(4))
    measuring = runner("fp32", "bf16")
    ids = [event.event_id for event in measuring.handle(request)]
    assert ids == [event.event_id for event in measuring.handle(request)]
    assert ids == [
        event_id("LayerMeasured", request.event_id, measuring.system.system_id, precision)
        for precision in ("fp32", "bf16")
    ]


def test_another_job_or_another_system_gives_other_ids() -> None:
    ids = {
        event.event_id
        for threads in (1, 2)
        for layer in (relu(4), relu(5))
        for event in Runner(FakeRuntime(threads), ["fp32"], TickingClock()).handle(job(layer))
    }
    assert len(ids) == 4


def test_the_system_is_described_with_its_ceilings() -> None:
    described = runner("fp32", "fp16").describe()
    assert described.system == FakeRuntime().system()
    assert described.ceilings == (
        Ceiling(name="flops", precision="fp32", value=1e9, iqr=0.0),
        Ceiling(name="flops", precision="fp16", value=1e9, iqr=0.0),
    )
    assert described.cache_bytes == FakeRuntime().cache_bytes()
    assert described.event_id == runner("fp32").describe().event_id


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_events_can_be_published(precision: Precision) -> None:
    measuring = runner(precision)
    for event in (*measuring.handle(job(relu(4))), measuring.describe()):
        assert decode(encode(event)) == event
