"""What the services' steps are tested with: models in an event log, and what was written there."""

from datetime import UTC, datetime

from benanza.installation.embedded import drain
from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.service.processor import as_message
from benanza_ingest.limits import Limits
from benanza_ingest.step import ingest_step
from benanza_schemas.codec import decode
from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    LayerMeasured,
    System,
    Variant,
    event_id,
    identified,
)

LIMITS = Limits()
NOW = datetime(2026, 11, 21, tzinfo=UTC)
SYSTEM = identified(
    System(
        system_id="0" * 32,
        runtime="test",
        accelerator="",
        driver="",
        cuda="",
        cudnn="",
        cublas="",
        cpu="CPU",
        threads=1,
        libraries={},
        method="1",
    )
)


def clock() -> datetime:
    return NOW


def written(log: EventLog, topic: str) -> list[AnyEvent]:
    return [decode(record.value) for record in log.records(topic)]


def append(log: EventLog, *events: AnyEvent) -> None:
    log.append([as_message(event) for event in events])


def ingested(log: EventLog, *models: str) -> None:
    """Takes these models as far as their layers."""
    for model in models:
        for asked in asked_models(model, RunRequest(models=()), LIMITS):
            append(log, asked.event)
    with ingest_step(log, LIMITS, clock) as step:
        drain(step)


def measurement(job: BenchmarkRequested, time_us: float) -> LayerMeasured:
    variant = Variant(
        library="test",
        algorithm="only",
        samples_us=(time_us,),
        minimum_us=time_us,
        median_us=time_us,
        iqr_us=0.0,
    )
    return LayerMeasured(
        event_id=event_id("LayerMeasured", job.event_id, SYSTEM.system_id, "fp32"),
        fingerprint=job.fingerprint,
        system=SYSTEM,
        precision="fp32",
        measured_at=NOW,
        variants=(variant,),
    )
