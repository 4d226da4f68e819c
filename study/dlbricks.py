"""DLBricks on this machine's CPU: models' latencies from those of their sequences of layers.

    python -m study.dlbricks recordings/dlbricks-cpu.jsonl --models 45

It measures what the file lacks, for the models of the zoo with the fewest multiplications, and adds
a line for each; the same command goes on from there. All is measured in two passes, of which the
faster counts, since other programs may disturb one. Both models and sequences run as networks in
ONNX Runtime on one thread, operator by operator (graph optimisations off), with random weights.
`study.dlbricks_page` makes a page of the file.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec
import onnxruntime as ort
from onnx import parser

from benanza.profiling.whole_model import whole_model
from benanza.publishing.zoo_models import zoo
from benanza_ingest.extract import wired
from benanza_ingest.extracted import LayerSequence
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX
from benanza_ingest.splitting import split
from benanza_runner.cpu import cpu_name
from benanza_runner.measuring.sampling import collect
from benanza_runner.measuring.stopping import Rule, summary
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.network_timer import NetworkTimer
from benanza_runner.onnxruntime.networks import network_samples_us, network_timer
from benanza_runner.onnxruntime.session import CPU, Session, empty_call_us
from benanza_runner.reasons import short_reason

PASSES = 2

GRANULARITIES = 1, 2, 4, 10
"""The most layers of a sequence."""

MODEL_RULE = Rule(samples=15, least_us=200_000, cap_us=600_000)


class Machine(msgspec.Struct, frozen=True, tag=True):
    """What measured the lines that follow. `empty_us` is what a call with nothing to do takes."""

    cpu: str
    onnxruntime: str
    empty_us: float


class ModelLatency(msgspec.Struct, frozen=True, tag=True):
    """The median of calls of a whole model in microseconds; `None` if it can't run, with why."""

    model: str
    us: float | None
    failure: str = ""


class SequenceLatency(msgspec.Struct, frozen=True, tag=True):
    """The same of a sequence of layers, by its fingerprint, without what a call takes by itself."""

    fingerprint: str
    us: float | None
    failure: str = ""


Latency = Machine | ModelLatency | SequenceLatency


class WiredModel(NamedTuple):
    """A model of the zoo with its wiring."""

    model: str
    content: bytes
    wiring: Wiring


def zoo_models(names: Iterable[str]) -> list[WiredModel]:
    """These models of the zoo, those with the fewest multiplications and additions first."""
    models = []
    for name in names:
        content = fetch(PREFIX + name, Limits()).content
        wiring = wired(content, batch=None, dims={}, limits=Limits()).wiring
        models.append(WiredModel(name, content, wiring))
    models.sort(key=lambda model: sum(layer.flops for layer in model.wiring.layers))
    return models


def read(file: Path) -> list[Latency]:
    """The lines of a file, none if it isn't there. Raises `msgspec.DecodeError`."""
    content = file.read_bytes() if file.exists() else b""
    return msgspec.json.Decoder(Latency).decode_lines(content)


def model_latency(model: WiredModel) -> ModelLatency:
    """Times a whole model."""
    try:
        whole = whole_model(model.content)
        session = Session(whole.proto, whole.weights, whole.inputs, CPU, threads=1)
        return ModelLatency(model.model, _median_us(session, MODEL_RULE))
    except Exception as error:  # noqa: BLE001  # ONNX Runtime's errors share no narrower base
        return ModelLatency(model.model, None, short_reason(str(error)))


def sequence_latency(sequence: LayerSequence, timer: NetworkTimer) -> SequenceLatency:
    """Times a sequence as a network."""
    try:
        samples_us = network_samples_us(timer, layer_model(sequence.layer))
        return SequenceLatency(sequence.fingerprint, median(samples_us))
    except Exception as error:  # noqa: BLE001  # so here
        return SequenceLatency(sequence.fingerprint, None, short_reason(str(error)))


def _median_us(session: Session, rule: Rule) -> float:
    return summary(sorted(collect(session.call, rule).calls_us)).median


def measured(models: Iterable[WiredModel], before: Iterable[Latency]) -> Iterator[Latency]:
    """In each pass each model, and right after it those of its sequences that no model before it
    has. What was measured `before` is left out.
    """
    models = tuple(models)
    known = Counter(_key(latency) for latency in before)
    timer = network_timer(threads=1)
    for done in range(PASSES):
        for model in models:
            if known[model.model] == done:
                known[model.model] += 1
                yield model_latency(model)
            for granularity in GRANULARITIES:
                for sequence in split(model.wiring, granularity):
                    if known[sequence.fingerprint] == done:
                        known[sequence.fingerprint] += 1
                        yield sequence_latency(sequence, timer)


def _key(latency: Latency) -> str:
    match latency:
        case ModelLatency(model=name) | SequenceLatency(fingerprint=name):
            return name
    return ""


def _denormals_as_zero() -> None:
    """Makes this process take denormal numbers for zero, all its arithmetic included: the first
    session of ONNX Runtime decides. Random weights give many of them, which take long.
    """
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[1] x) => (float[1] y) {y = Relu(x)}'
    options = ort.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    model = parser.parse_model(text)
    ort.InferenceSession(model.SerializeToString(), options, providers=[CPU.name])


def main() -> None:
    """Measures, and adds a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", type=int, default=45)
    asked = parser.parse_args()
    before = read(asked.file)
    _denormals_as_zero()
    machine = Machine(cpu_name(), ort.__version__, empty_call_us(CPU, threads=1))
    names = (model.model.removeprefix(PREFIX) for model in zoo(exported=True).models)
    with asked.file.open("ab") as file:
        file.write(msgspec.json.encode(machine) + b"\n")
        for latency in measured(zoo_models(names)[: asked.models], before):
            file.write(msgspec.json.encode(latency) + b"\n")
            if isinstance(latency, ModelLatency):
                file.flush()
                print(f"{latency.model}: {latency.failure or latency.us}", flush=True)


if __name__ == "__main__":
    main()
