"""Services that take their turns in this process, over the log of the installation under test."""

import os

from benanza.installation.embedded import drain
from benanza_analyzer.sink import sink_step
from benanza_analyzer.step import analyzer_step
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clock import now
from benanza_backbone.settings import load
from benanza_dedupe.step import dedupe_step
from benanza_ingest.limits import Limits
from benanza_ingest.step import ingest_step
from benanza_runner.step import runner_step
from benanza_runner.system_description import describe_system
from tests.benanza.commands.conftest import opened_log
from tests.benanza.hashed_runtime import HashedRuntime


def ingest() -> None:
    """Models to jobs."""
    with opened_log() as log:
        with ingest_step(log, Limits(), now) as step:
            drain(step)
        with dedupe_step(log, now) as step:
            drain(step)


def measure(jobs: int) -> None:
    """So many of the jobs that wait, in fp32."""
    with opened_log() as log:
        describe_system(log, HashedRuntime(), ["fp32"], now)
        with runner_step(log, HashedRuntime(), "fp32", now) as step:
            done = 0
            while done < jobs:
                done += step.turn(limit=jobs - done, timeout=1.0)


def analyze() -> None:
    """All results to bounds."""
    with opened_log() as log, analyzer_step(log, now) as step:
        drain(step)


def store() -> None:
    """All events into the store."""
    with (
        opened_log() as log,
        Store.open(load(os.environ).clickhouse) as store,
        sink_step(log, store, now) as step,
    ):
        drain(step)
