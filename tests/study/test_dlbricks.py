"""DLBricks: what was measured adds up to models' latencies."""

from pathlib import Path

import msgspec
import pytest

from benanza_ingest.extract import wired
from benanza_ingest.limits import Limits
from benanza_ingest.splitting import split
from benanza_runner.onnxruntime.networks import network_timer
from study.dlbricks import (
    PASSES,
    Latency,
    ModelLatency,
    SequenceLatency,
    WiredModel,
    measured,
    read,
    sequence_latency,
    zoo_models,
)
from study.dlbricks_page import at_granularity, page
from tests.ingest.onnx_text import content

RECORDED = Path(__file__).parents[2] / "recordings" / "dlbricks-cpu.jsonl"
PAGE = Path(__file__).parents[2] / "docs" / "results" / "dlbricks.md"

TEXT = """
g (float[64, 64] x) => (float[64, 64] y) {
    a = Relu(x)
    b = Sigmoid(a)
    c = Relu(b)
    y = Sigmoid(c)
}
"""


def model() -> WiredModel:
    encoded = content(TEXT)
    return WiredModel("m", encoded, wired(encoded, batch=None, dims={}, limits=Limits()).wiring)


def test_a_model_is_a_call_and_the_sum_of_its_sequences() -> None:
    relu, sigmoid = (each.fingerprint for each in split(model().wiring, 1)[:2])
    found = at_granularity(1, [model()], {"m": 20.0}, {relu: 3.0, sigmoid: 9.0}, empty_us=2.0)
    (only,) = found.models
    assert only.constructed_us == 2 + 2 * (3 + 9)
    assert (found.sequences, found.unique, found.unique_us) == (4, 2, 12.0)
    assert found.error() == pytest.approx(26 / 20 - 1)
    assert found.cheaper() == pytest.approx(20 / 12)


def test_a_model_with_a_sequence_that_was_not_measured_is_left_out() -> None:
    relu, _ = (each.fingerprint for each in split(model().wiring, 1)[:2])
    assert at_granularity(1, [model()], {"m": 20.0}, {relu: 3.0}, empty_us=2.0).models == []


def test_each_sequence_is_measured_once_in_each_pass(tmp_path: Path) -> None:
    found = [*measured([model()], [])]
    # Relu, Sigmoid, both of them twice, and all four, which is as much as ten would be.
    assert [type(each) for each in found] == [ModelLatency, *[SequenceLatency] * 4] * PASSES
    times = [each.us for each in found if isinstance(each, ModelLatency | SequenceLatency)]
    assert None not in times
    file = tmp_path / "latencies.jsonl"
    file.write_bytes(b"\n".join(msgspec.json.encode(each) for each in found))
    before: list[Latency] = read(file)
    assert before == found
    assert [*measured([model()], before)] == []
    assert [type(each) for each in measured([model()], before[1:])] == [ModelLatency]


def test_a_sequence_that_cannot_run_has_a_reason() -> None:
    (sequence, *_) = split(model().wiring, 1)
    broken = msgspec.structs.replace(
        sequence.layer.operators[0], op_type="Nothing", domain="of.nowhere"
    )
    layer = msgspec.structs.replace(sequence.layer, operators=(broken,))
    broken_one = msgspec.structs.replace(sequence, layer=layer)
    found = sequence_latency(broken_one, network_timer(threads=1))
    assert found.us is None
    assert found.failure


def test_models_come_with_the_fewest_multiplications_first() -> None:
    names = ["vgg19", "squeezenet", "timm:starnet_s1", "alexnet"]
    models = zoo_models(names)
    flops = [sum(layer.flops for layer in each.wiring.layers) for each in models]
    assert flops == sorted(flops)
    assert sorted(each.model for each in models) == sorted(names) != [e.model for e in models]


def test_the_page_has_what_was_recorded() -> None:
    assert "\n".join([*page(RECORDED), ""]) == PAGE.read_text(encoding="utf-8")
