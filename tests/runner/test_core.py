"""Jobs to measurements."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from benanza_runner.core import Runner
from benanza_runner.runtime import Outcome
from benanza_runner.variants import event_variant
from benanza_schemas.codec import decode, encode
from benanza_schemas.events import BenchmarkRequested, Ceiling, System, event_id, identified
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
    assert first.variants == (event_variant(variant(3.0)),)
    assert first.failure == ""
    assert first.environment["process"].isdigit()
    assert (first.measured_at, second.measured_at) == (
        START + timedelta(seconds=1),
        START + timedelta(seconds=2),
    )


class WithTensorCores(FakeRuntime):
    """Has an accelerator, and notes what it was asked for and told to expect."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, Precision]] = []
        self.expected: list[tuple[str, Precision]] = []

    def system(self) -> System:
        return identified(replace(super().system(), accelerator="paper GPU"))

    def expect(self, layers: Iterable[tuple[Layer, Precision]]) -> None:
        self.expected += [(layer.title(), precision) for layer, precision in layers]

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        self.asked.append((layer.title(), precision))
        return super().measure(layer, precision)


def test_without_products_an_accelerator_does_the_same_in_tf32_as_in_fp32() -> None:
    runtime = WithTensorCores()
    measuring = Runner(runtime, ["tf32", "fp32", "fp16"], TickingClock())
    jobs = [job(relu(4)), job(conv_group(2, 4, "Relu"))]
    measuring.expect(jobs)
    tf32, fp32, fp16 = measuring.handle(jobs[0])
    assert (tf32.precision, fp32.precision, fp16.precision) == ("tf32", "fp32", "fp16")
    assert replace(tf32, event_id=fp32.event_id, precision="fp32") == fp32
    assert tf32.event_id == event_id(
        "LayerMeasured", jobs[0].event_id, measuring.system.system_id, "tf32"
    )
    measuring.handle(jobs[1])
    wanted = [("Relu", "fp32"), ("Relu", "fp16")]
    wanted += [("Conv+Relu", precision) for precision in ("tf32", "fp32", "fp16")]
    assert runtime.expected == runtime.asked == wanted


def test_tf32_alone_is_measured() -> None:
    runtime = WithTensorCores()
    (event,) = Runner(runtime, ["tf32"], TickingClock()).handle(job(relu(4)))
    assert event.precision == "tf32"
    assert runtime.asked == [("Relu", "tf32")]


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
