"""What three GPUs recorded of the zoo's models, and what each predicts of the others."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from benanza.importing.recording import read_recording
from benanza.predicting.specification import known_sheets
from benanza.publishing.zoo_models import zoo
from benanza_analyzer.answers.calls import Cover
from benanza_analyzer.core import Analyzer
from benanza_analyzer.limits.ceilings import SystemCeilings
from benanza_analyzer.prediction.bound import predicted_bound
from benanza_analyzer.prediction.gpu import GpuSpecification, attained_rates, rates_beside
from benanza_analyzer.prediction.scaling import works
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, zoo_names
from benanza_schemas.events import (
    Ceiling,
    LayerMeasured,
    ModelIngested,
    ModelPublished,
    SystemMeasured,
)
from benanza_schemas.layer import Accounting, Precision
from benanza_schemas.times import has_warm_time
from benanza_schemas.vocabulary import GENERATED

RECORDINGS = Path(__file__).parents[2] / "recordings"
MEASURED = (
    *(f"nvidia-h200{part}" for part in ("", "-zoo", "-ceilings")),
    *(f"nvidia-h100{part}" for part in ("", "-zoo", "-ceilings")),
    "nvidia-v100-2019",
)
H200, H100, V100 = "NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA Tesla V100-SXM2-16GB"
SHORT = {H200: "H200", H100: "H100", V100: "V100"}

STARTED_US = 0.1
"""What takes less starts nothing."""

BATCHES = (1, 32)
"""At the latter, models of the `onnx` package alone."""

Sources = dict[str, list[LayerMeasured]]
"""Measurements by fingerprint."""


class Compared(NamedTuple):
    """A model's predicted bound beside the measured ones: there, and where it was learned."""

    model: str
    batch: int
    precision: Precision
    predicted_us: float
    measured_us: float
    learned_us: float

    @property
    def ratio(self) -> float:
        """How many times as long as it takes it is predicted to."""
        return self.predicted_us / self.measured_us

    @property
    def unscaled(self) -> float:
        """The same if nothing were scaled."""
        return self.learned_us / self.measured_us


class Recorded(NamedTuple):
    """The models, and the measurements and ceilings of each GPU.

    `covers` keeps what was found of each model: by its architecture, the GPU, the precision, the
    accounting, and how many measurements there are.
    """

    models: list[ModelIngested]
    layers: dict[tuple[str, Precision], Sources]
    ceilings: dict[str, SystemCeilings]
    covers: dict[tuple[str, str, Precision, Accounting, int], Cover]


def read_recorded() -> Recorded:
    """Ingests the zoo, and reads the recordings. Of the V100 the shortest call is its ceiling."""
    layers: dict[tuple[str, Precision], Sources] = defaultdict(lambda: defaultdict(list))
    ceilings: dict[str, SystemCeilings] = defaultdict(SystemCeilings)
    described: dict[str, SystemMeasured] = {}
    for name in MEASURED:
        for _, event in read_recording(RECORDINGS / f"{name}.xz"):
            if isinstance(event, SystemMeasured):
                described[event.system.accelerator] = event
                ceilings[event.system.accelerator].add(event)
            elif isinstance(event, LayerMeasured):
                of_gpu = layers[event.system.accelerator, event.precision]
                of_gpu[event.fingerprint].append(event)
    shortest = (Ceiling("launches", "fp32", 1e6 / _shortest_us(layers[V100, "fp32"]), 0.0),)
    ceilings[V100].add(replace(described[V100], ceilings=shortest))
    return Recorded(list(_models()), layers, ceilings, {})


def _shortest_us(layers: Sources) -> float:
    times = (
        variant.minimum_us
        for events in layers.values()
        for event in events
        for variant in event.variants
        if variant.minimum_us and variant.minimum_us > STARTED_US
    )
    return min(times)


def _models() -> Iterator[ModelIngested]:
    of_onnx = {PREFIX + name for name in zoo_names()}
    for entry in zoo(exported=True).models:
        published = ModelPublished(
            event_id="0" * 32,
            name=entry.model.removeprefix(PREFIX),
            sha256="0" * 64,
            batch_sizes=BATCHES if entry.model in of_onnx else (1,),
        )
        for event in ingest(published, fetch(entry.model, Limits()).content, Limits()):
            if isinstance(event, ModelIngested):
                yield event


def by_measured_ceilings(recorded: Recorded, gpu: str) -> GpuSpecification:
    """A GPU by the ceilings that were recorded there."""
    attained, rates = attained_rates(recorded.ceilings[gpu])
    return known_sheets()[gpu]._replace(
        figures="measured",
        memory=attained.memory,
        cache_bytes=attained.cache_bytes,
        cache_bandwidth=attained.bandwidth,
        launch_us=1e6 / attained.launches,
        flops=rates,
    )


def with_launches(recorded: Recorded, gpu: str) -> GpuSpecification:
    """A GPU by its data sheet, and with the shortest call that was recorded there."""
    attained, _ = attained_rates(recorded.ceilings[gpu])
    return known_sheets()[gpu]._replace(launch_us=1e6 / attained.launches)


def compared(
    recorded: Recorded, source: str, target: GpuSpecification, precision: Precision
) -> list[Compared]:
    """The models that have all their layers on both GPUs, under the accounting `full`."""
    here, there = recorded.layers[source, precision], recorded.layers[target.name, precision]
    return list(_compared(recorded, source, target, (here, there), "full"))


def compared_in_common(recorded: Recorded, source: str, target: GpuSpecification) -> list[Compared]:
    """The layers and groups in fp32 that libraries' calls were timed of on both GPUs, under the
    accounting `paper`.
    """
    here, there = (recorded.layers[gpu, "fp32"] for gpu in (source, target.name))
    both = {fingerprint for fingerprint in here if _timed(here[fingerprint])}
    both &= {fingerprint for fingerprint in there if _timed(there[fingerprint])}
    common = tuple({of: events[of] for of in both} for events in (here, there))
    return list(_compared(recorded, source, target, (common[0], common[1]), "paper"))


def _timed(events: Iterable[LayerMeasured]) -> bool:
    return any(
        has_warm_time(variant) and variant.library != GENERATED
        for event in events
        for variant in event.variants
    )


def _compared(
    recorded: Recorded,
    source: str,
    target: GpuSpecification,
    layers: tuple[Sources, Sources],
    accounting: Accounting,
) -> Iterator[Compared]:
    rates = rates_beside(recorded.ceilings[source], known_sheets()[source], target)
    assert not isinstance(rates, str), rates
    for model in recorded.models:
        here, there = (_of(model, events) for events in layers)
        if not here or not there:
            continue
        learned, measured = (
            _cover(recorded, gpu, model, events, accounting)
            for gpu, events in ((source, here), (target.name, there))
        )
        if accounting == "full" and (learned.lacking or measured.lacking):
            continue
        predicted = predicted_bound(model, here, rates, accounting, fusion=True)
        if predicted.sequential_us and measured.calls:
            yield Compared(
                model=model.name,
                batch=model.batch,
                precision=here[0].precision,
                predicted_us=predicted.sequential_us,
                measured_us=measured.sequential_us,
                learned_us=learned.sequential_us,
            )


def _of(model: ModelIngested, events: Sources) -> Sequence[LayerMeasured]:
    return [event for of in works(model, "fp32") for event in events.get(of, ())]


def _cover(
    recorded: Recorded,
    gpu: str,
    model: ModelIngested,
    events: Sequence[LayerMeasured],
    accounting: Accounting,
) -> Cover:
    """The calls of the bound by these measurements, which are of one system and precision."""
    precision = events[0].precision
    key = model.architecture_id, gpu, precision, accounting, len(events)
    if key not in recorded.covers:
        analyzer = Analyzer()
        analyzer.restore(model)
        for event in events:
            analyzer.restore(event)
        of = model.architecture_id, events[0].system.system_id, precision, accounting
        recorded.covers[key] = analyzer.cover(*of, fusion=True)
    return recorded.covers[key]
