"""At which rates the server is watched before a run."""

from typing import Any

import numpy as np
import pytest

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.pipeline import Pipeline
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import ServiceTimes
from benanza.evaluating.samples import MadeUpSamples

pytest.importorskip("mlperf_loadgen")

from benanza.evaluating.loadgen import LoadSettings, run_load
from benanza.evaluating.server import serving

ALONE = (ServiceTimes(batch=1, median_us=100.0, samples_us=(100.0,), after_idle_us=(100.0,)),)
"""A throughput of 10,000 a second."""


def test_it_is_watched_near_the_rate_and_below_the_throughput(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[LoadSettings] = []

    def ran(load: LoadSettings, *others: Any) -> Any:
        asked.append(load)
        return run_load(load, *others)

    monkeypatch.setattr(serving, "run_load", ran)
    model = BatchedModel([LoadedModel(1, lambda x: tuple(x.values()), {"x": np.zeros((1, 1))})])
    request = EvaluationRequest(
        model="made up", framework="onnxruntime", scenario="server", duration_s=0.05, max_batch=1
    )
    server = serving.Server(request, Pipeline(model, MadeUpSamples(model.at(1).inputs)), 1e9)
    answered = server.watched(1_000.0, ALONE) + server.watched(9_000.0, ALONE)
    assert [load.rate_per_s for load in asked] == pytest.approx([850, 1_150, 7_650, 9_700])
    assert all(len(batches) >= serving.WATCHED_QUERIES for batches in answered)
    schedules = [load.seeds.schedule for load in asked]
    assert schedules[0] != schedules[1]
    assert request.seeds.schedule not in schedules
