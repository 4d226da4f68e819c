"""`retry`: layers that failed are measured again."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from benanza.event_logs import configured_log
from benanza.known import known_store
from benanza.operator_results import RetriedLayers
from benanza.steps import records
from benanza_backbone.event_log import EventLog
from benanza_backbone.processor import as_message
from benanza_backbone.settings import Settings
from benanza_schemas.codec import decode
from benanza_schemas.events import BenchmarkRequested, event_id
from benanza_schemas.topics import JOBS

AT_ONCE = 1_000
"""Events between two waits for the log: a few megabytes."""


def retry_failed(settings: Settings, *, system_id: str = "", reason: str = "") -> RetriedLayers:
    """Publishes another job for each layer that has no time, says the store.

    Of one system, or of all; for failures with this text in them, or for any. A system that has a
    time for the layer passes over it. The job is that of the failed results: the same call again,
    before there are others, does no harm. Raises `BenanzaError` if the log or the store can't be
    reached.
    """
    with known_store(settings) as store:
        failed = store.failed_layers(system_id, reason)
    with configured_log(settings) as log:
        jobs = list(_jobs(log, failed))
        for start in range(0, len(jobs), AT_ONCE):
            log.append([as_message(job) for job in jobs[start : start + AT_ONCE]])
    return RetriedLayers(layers=len(jobs), without_job=len(failed) - len(jobs))


def _jobs(log: EventLog, failed: Mapping[str, Sequence[str]]) -> Iterator[BenchmarkRequested]:
    left = {fingerprint.encode(): results for fingerprint, results in failed.items()}
    for record in records(log, JOBS):
        if record.key in left:
            job = decode(record.value)
            if isinstance(job, BenchmarkRequested):
                yield again(job, left.pop(record.key))


def again(job: BenchmarkRequested, results: Sequence[str]) -> BenchmarkRequested:
    """The job that asks for a layer again after these results of it, which failed."""
    identity = event_id("BenchmarkRequested", job.fingerprint, *results)
    return msgspec.structs.replace(job, event_id=identity)
