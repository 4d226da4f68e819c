"""A model as its bound says, measured for the purpose."""

from collections import defaultdict

from benanza.looking.bound_program import program_of
from benanza_analyzer.core import Analyzer
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_runner.core import Runner
from benanza_runner.runtime import Runtime
from benanza_schemas.events import (
    BenchmarkRequested,
    LayerMeasured,
    LayerSeen,
    ModelIngested,
    ModelPublished,
)
from benanza_schemas.layer import Precision
from benanza_schemas.program import Program
from tests.schemas.samples import NOON


def measured_program(
    runtime: Runtime, content: bytes, precision: Precision, left_out: tuple[str, ...] = ()
) -> Program:
    """All layers measured but those of these titles, and the model as its bound says."""
    published = ModelPublished(event_id="0" * 32, name="m", sha256="0" * 64)
    events = ingest(published, content, Limits())
    (model,) = (event for event in events if isinstance(event, ModelIngested))
    analyzer, runner = Analyzer(), Runner(runtime, [precision], lambda: NOON)
    analyzer.handle(model, NOON)
    measured: dict[str, list[LayerMeasured]] = defaultdict(list)
    for event in events:
        if isinstance(event, LayerSeen) and event.layer.title() not in left_out:
            job = BenchmarkRequested(
                event_id=event.event_id, fingerprint=event.fingerprint, layer=event.layer
            )
            (result,) = runner.handle(job)
            measured[result.fingerprint].append(result)
            analyzer.handle(result, NOON)
    system = runtime.system().system_id
    cover = analyzer.cover(model.architecture_id, system, precision, "full", fusion=True)
    return program_of(model, content, cover, measured, Limits())
