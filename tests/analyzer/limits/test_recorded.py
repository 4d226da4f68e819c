"""The speed of light is below every bound, and below every call, of all that GPUs recorded of the
models of the `onnx` package.
"""

import lzma
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from itertools import islice, permutations
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgpack
import pytest
from msgspec.structs import replace

from benanza_analyzer.core import Analyzer
from benanza_analyzer.limits.ceilings import PlatformCeilings, SystemCeilings
from benanza_analyzer.limits.speed_of_light import BYTES_KEPT, speed_of_light, work_of_call
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode
from benanza_schemas.events import (
    BoundUpdated,
    LayerMeasured,
    ModelIngested,
    ModelPublished,
    SystemMeasured,
)
from benanza_schemas.layer import Precision
from tests.analyzer.events import NOW
from tests.ingest.real_models import LIGHT, content

pytestmark = pytest.mark.slow

RECORDINGS = Path(__file__).parents[3] / "recordings"
OF_LAYERS = ("nvidia-h200", "nvidia-h200-ceilings", "nvidia-h100", "nvidia-h100-ceilings")
"""The recordings with layers of these models on a system whose ceilings are known."""

BATCHES = (1, 32)
STARTED_US = 0.1
"""What takes less starts nothing."""


def recorded(name: str) -> Iterator[SystemMeasured | LayerMeasured]:
    with lzma.open(RECORDINGS / f"{name}.xz") as file:
        unpacker = msgpack.Unpacker(file)
        next(unpacker)  # how many there are
        for encoded in unpacker:
            event = decode(encoded)
            if isinstance(event, SystemMeasured | LayerMeasured):
                yield event


@cache
def ingested() -> list[ModelIngested]:
    models = []
    for name in LIGHT:
        published = ModelPublished(
            event_id="0" * 32, name=name, sha256="0" * 64, batch_sizes=BATCHES
        )
        events = ingest(published, content(name), Limits())
        models += [event for event in events if isinstance(event, ModelIngested)]
    return models


class Call(NamedTuple):
    """A call of a bound, with its speed of light."""

    of: str
    precision: Precision
    op: str
    us: float
    least_us: float
    limited_by: str


class Found(NamedTuple):
    """The full bounds of the models, and the calls of those with fusion."""

    bounds: dict[tuple[str, ...], BoundUpdated]
    calls: list[Call]


@cache
def found() -> Found:
    """What an analyzer makes of the models and of all recordings together."""
    analyzer = Analyzer()
    ceilings: dict[str, SystemCeilings] = {}
    platforms: dict[tuple[str, Precision], None] = {}
    for recording in OF_LAYERS:
        for event in recorded(recording):
            analyzer.restore(event)
            if isinstance(event, SystemMeasured):
                ceilings.setdefault(event.system.system_id, SystemCeilings()).add(event)
            else:
                platforms[event.system.system_id, event.precision] = None
    bounds: dict[tuple[str, ...], BoundUpdated] = {}
    calls: list[Call] = []
    for model in ingested():
        for bound in analyzer.handle(model, NOW):
            key = bound.system_id, bound.precision, bound.accounting, str(bound.fusion)
            if not bound.missing:
                bounds[(f"{model.name}, batch {model.batch}", *key)] = bound
            rates = ceilings[bound.system_id].of(bound.precision)
            if bound.accounting == "full" and bound.fusion and rates is not None:
                calls += _calls(analyzer, model, bound, rates)
    return Found(bounds, calls)


def _calls(
    analyzer: Analyzer, model: ModelIngested, bound: BoundUpdated, ceilings: PlatformCeilings
) -> Iterator[Call]:
    of = bound.architecture_id, bound.system_id, bound.precision, bound.accounting
    for call in analyzer.cover(*of, fusion=bound.fusion).calls:
        if call.us >= STARTED_US:
            work = work_of_call(call.bytes / BYTES_KEPT[bound.precision], call.least_flops)
            ops = [model.summaries[model.layers[at].summary].op for at in call.positions]
            yield Call(
                f"{model.name}, batch {model.batch}",
                bound.precision,
                "+".join(ops),
                call.us,
                *speed_of_light(work, ceilings, bound.precision),
            )


def test_all_models_are_compared() -> None:
    assert len({key[0] for key in found().bounds}) == len(LIGHT) * len(BATCHES)
    assert len(found().bounds) > 200
    assert len(found().calls) > 5_000


def test_no_bound_is_below_its_speed_of_light() -> None:
    for key, bound in found().bounds.items():
        assert bound.roofline_us is not None, key
        assert bound.sequential_us is not None, key
        assert 0 < bound.roofline_us <= bound.sequential_us, key


def test_no_call_is_below_its_speed_of_light() -> None:
    assert [call for call in found().calls if call.us < call.least_us] == []


def test_the_speed_of_light_is_near() -> None:
    """What docs/results/ladder.md says of calls by kind."""
    ratios = [call.us / call.least_us for call in found().calls if call.least_us]
    assert 1 < median(ratios) < 5


def test_no_order_of_recordings_changes_a_ceiling() -> None:
    """Nor does one without ceilings, which the recordings of the zoo are."""
    described = [
        replace(event, imported_from=sha256(name.encode()).hexdigest())
        for name in (*OF_LAYERS, "nvidia-h100-zoo", "nvidia-h200-zoo-b32")
        for event in islice(recorded(name), 1)
        if isinstance(event, SystemMeasured)
    ]
    seen = set()
    for order in permutations(described):
        ceilings: dict[str, SystemCeilings] = {}
        for event in order:
            ceilings.setdefault(event.system.system_id, SystemCeilings()).add(event)
        seen.add(
            tuple(
                (system, ceilings[system].of("fp16"), ceilings[system].of("fp32"))
                for system in sorted(ceilings)
            )
        )
    assert len(seen) == 1
