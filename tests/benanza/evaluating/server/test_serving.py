"""At which rates the server is watched before a run, and which of its runs counts."""

from typing import Any

import msgspec
import numpy as np
import pytest

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.pipeline import Pipeline
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import Evaluation, MeasuredLoad, ServiceTimes
from benanza.evaluating.samples import MadeUpSamples
from benanza_schemas.events import event_id
from tests.backbone.sample_events import NOON
from tests.benanza.agents.samples import SHA256, system

pytest.importorskip("mlperf_loadgen")

from benanza.evaluating.loadgen import LoadSettings, run_load
from benanza.evaluating.server import serving
from benanza.evaluating.server.rate import STEPS

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


@pytest.mark.parametrize("confirmed_share", [0.8, 0.0])
def test_the_greatest_rate_that_a_whole_run_confirms_counts(
    monkeypatch: pytest.MonkeyPatch, confirmed_share: float
) -> None:
    """Short runs are valid up to 8,000 a second, whole ones up to a share of that."""
    request = EvaluationRequest(
        model="made up", framework="onnxruntime", scenario="server", duration_s=0.1, max_batch=1
    )
    model = BatchedModel([LoadedModel(1, lambda _: [np.zeros(1)], {"x": np.zeros((1, 1))})])
    run = serving.Server.run
    answered: dict[float, object] = {}

    def limited(server: serving.Server, rate_per_s: float, duration_s: float) -> MeasuredLoad:
        whole = duration_s == request.duration_s
        measured = run(server, 3_000.0, duration_s)  # so that each takes as long
        answered[rate_per_s] = server.batches
        valid = rate_per_s <= 8_000 * (confirmed_share if whole else 1.0)
        checks = {**measured.validity.checks, "performance constraints": valid}
        validity = msgspec.structs.replace(measured.validity, valid=valid, checks=checks)
        return msgspec.structs.replace(measured, validity=validity)

    monkeypatch.setattr(serving.Server, "run", limited)
    evaluation = Evaluation(
        request=request,
        name="made up",
        model_id=event_id("m"),
        sha256=SHA256,
        dims={},
        system=system(),
        configuration="",
        loadgen="",
        samples="",
        evaluated_at=NOON,
        service=ALONE,
    )
    pipeline = Pipeline(model, MadeUpSamples(model.at(1).inputs))
    found, batches = serving.served(evaluation, pipeline)
    assert found.measured is not None
    assert found.rate_per_s is not None
    assert found.measured.validity.valid == (confirmed_share > 0)
    assert batches is answered[found.rate_per_s]
    whole = found.tried[STEPS:]
    if confirmed_share:
        assert found.rate_per_s == max(each.rate_per_s for each in whole if each.valid)
        assert whole[-1].rate_per_s != found.rate_per_s, "the last one isn't the one that counts"
    else:
        assert found.rate_per_s == min(each.rate_per_s for each in whole)
