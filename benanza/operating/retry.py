"""`retry`: layers that failed are measured again."""

from collections import defaultdict
from collections.abc import Collection

import msgspec

from benanza.installation.configured import configured_log, known_store
from benanza.prefixes import with_prefix
from benanza.results.operating import RetriedLayers
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.readable import events_of
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_runner.measured_layers import asked_again
from benanza_schemas.events import BenchmarkRequested
from benanza_schemas.topics import JOBS

AT_ONCE = 1_000
"""Events between two waits for the log: a few megabytes."""


def retry_failed(settings: Settings, *, system: str = "", reason: str = "") -> RetriedLayers:
    """Publishes another job for each layer that has no time, says the store.

    Of the system whose id begins so, or of all; for last failures with this text in them, or for
    any. The job says which systems are to measure the layer: those whose failures were found. The
    same call again, before there are other results, publishes nothing. Raises `BenanzaError` for a
    system that has measured nothing, or if the log or the store can't be reached.
    """
    with known_store(settings) as store:
        failed = store.failed_layers(_system_id(store, system) if system else "", reason)
    with configured_log(settings) as log:
        jobs, there = jobs_of(log, failed)
        # Of the jobs of a layer, logs keep the last: it asks all that were asked.
        asked = [asked_again(job, sorted({*job.after, *failed[of]})) for of, job in jobs.items()]
        new = [job for job in asked if job.event_id not in there]
        for start in range(0, len(new), AT_ONCE):
            log.append([as_message(job) for job in new[start : start + AT_ONCE]])
    return RetriedLayers(
        layers=len(new), waiting=len(asked) - len(new), without_job=len(failed) - len(jobs)
    )


def _system_id(store: Store, system: str) -> str:
    known = store.measuring_systems()
    system_id = with_prefix(system, known, "systems")
    if system_id is None:
        raise BenanzaError(
            f"no system {system} has measured anything here; "
            f"those that have are: {', '.join(known) or 'none'}"
        )
    return system_id


def jobs_of(
    log: EventLog, fingerprints: Collection[str]
) -> tuple[dict[str, BenchmarkRequested], set[str]]:
    """A job of each of these layers that has one, `after` all that any of them is, and the ids of
    all of them.
    """
    keys = {fingerprint.encode() for fingerprint in fingerprints}
    jobs: dict[str, BenchmarkRequested] = {}
    after: dict[str, set[str]] = defaultdict(set)
    there: set[str] = set()
    for job in events_of(log, JOBS, BenchmarkRequested, keys):
        jobs.setdefault(job.fingerprint, job)
        after[job.fingerprint].update(job.after)
        there.add(job.event_id)
    for fingerprint, job in jobs.items():
        jobs[fingerprint] = msgspec.structs.replace(job, after=tuple(sorted(after[fingerprint])))
    return jobs, there
