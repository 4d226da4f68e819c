"""Layers are measured again: because somebody asks for it, or once the machine is quiet."""

import time
from collections.abc import Iterable, Sequence

from benanza.operating.retry import jobs_of
from benanza.running.counting import benchmarked_layers
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.service.processor import as_message
from benanza_runner.machine_load import machine_load
from benanza_runner.measured_layers import MeasuredLayers, asked_again
from benanza_runner.measuring.busy import quiet_within
from benanza_schemas.events import BenchmarkRequested, ModelIngested
from benanza_schemas.layer import Precision

PATIENCE_S = 3.0
"""How many seconds a run waits for a busy machine to become quiet."""


def becomes_quiet() -> bool:
    """Whether nobody else works on this machine, now or soon."""
    return quiet_within(PATIENCE_S, machine_load, time.sleep)


def ask_again(
    log: EventLog,
    models: Iterable[ModelIngested],
    system_id: str,
    precisions: Sequence[Precision],
) -> None:
    """Asks for all layers of these models again that this system has measured at a precision."""
    layers = {layer for model in models for layer in benchmarked_layers(model)}
    jobs, there = jobs_of(log, layers)
    asked: dict[str, BenchmarkRequested] = {}
    for precision in precisions:
        measured = MeasuredLayers(log, system_id, precision)
        measured.catch_up()
        for fingerprint, job in jobs.items():
            if results := measured.results_of(fingerprint):
                before = asked.get(fingerprint, job)
                asked[fingerprint] = asked_again(before, sorted({*before.after, *results}))
    log.append([as_message(job) for job in asked.values() if job.event_id not in there])
