"""The simulated server: against LoadGen's own schedule, theory, and by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benanza.evaluating.batches import BatchedModel, LoadedModel
from benanza.evaluating.pipeline import Answered, Pipeline
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import Overheads, ServiceTimes
from benanza.evaluating.samples import MadeUpSamples

lg = pytest.importorskip("mlperf_loadgen")

from benanza.evaluating.loadgen import read_log  # noqa: E402
from benanza.evaluating.server.overheads import overheads  # noqa: E402
from benanza.evaluating.server.simulated import schedule_us, simulate  # noqa: E402
from benanza.evaluating.server.under_load import (  # noqa: E402
    LEAST,
    PlayedTimes,
    times_alone,
    times_under_load,
)
from benanza.evaluating.under_test import AnsweredBatch, Query  # noqa: E402


def constant(batch: int, us: float) -> ServiceTimes:
    return ServiceTimes(batch=batch, median_us=us, samples_us=(us,), after_idle_us=(us,))


def of_one(in_a_row_us: Sequence[float], after_idle_us: Sequence[float]) -> PlayedTimes:
    times = ServiceTimes(
        batch=1,
        median_us=in_a_row_us[0],
        samples_us=tuple(in_a_row_us),
        after_idle_us=tuple(after_idle_us),
    )
    return times_alone([times])


@pytest.mark.parametrize("seed", [0, 12345678901])
def test_requests_come_when_loadgen_issues_them(seed: int, tmp_path: Path) -> None:
    settings = lg.TestSettings()
    settings.scenario = lg.TestScenario.Server
    settings.min_duration_ms, settings.min_query_count = 50, 662
    settings.server_target_qps, settings.schedule_rng_seed = 20_000, seed

    def issue(samples: Sequence[Any]) -> None:
        lg.QuerySamplesComplete([lg.QuerySampleResponse(sample.id, 0, 0) for sample in samples])

    sut = lg.ConstructSUT(issue, lambda: None)
    qsl = lg.ConstructQSL(4, 4, lambda _: None, lambda _: None)
    outputs, logs = lg.LogOutputSettings(), lg.LogSettings()
    outputs.outdir, logs.enable_trace = str(tmp_path), False
    logs.log_output = outputs
    lg.StartTestWithLogSettings(sut, qsl, settings, logs)
    log = read_log((tmp_path / "mlperf_log_detail.txt").read_text())
    arrivals_us = schedule_us(seed, 20_000, 0.05)
    assert len(arrivals_us) == log["result_query_count"]
    said = log["result_scheduled_samples_per_sec"]
    assert 1e6 * (len(arrivals_us) - 1) / arrivals_us[-1] == pytest.approx(said, rel=1e-5)


def test_one_request_after_the_other_waits_as_theory_says() -> None:
    """Pollaczek and Khinchine: a constant service S at load r has a mean wait of rS / 2(1 - r)."""
    rate, service_us = 7_000.0, 100.0
    arrivals_us = schedule_us(0, rate, 2.0)
    found = simulate(arrivals_us, of_one([service_us], [service_us]), max_batch=1, max_wait_us=0.0)
    load = rate * service_us / 1e6
    wait_us = load * service_us / (2 * (1 - load))
    assert found.latency.mean_us == pytest.approx(service_us + wait_us, rel=0.1)
    assert found.batches == {1: len(arrivals_us)}


def test_batches_start_when_they_are_full_or_have_waited() -> None:
    service = times_alone([constant(1, 100.0), constant(2, 110.0), constant(4, 150.0)])
    arrivals_us = np.array([0.0, 10.0, 20.0, 30.0, 1_000.0, 1_040.0, 1_120.0, 5_000.0])
    found = simulate(arrivals_us, service, max_batch=4, max_wait_us=50.0)
    # The first four are full at 30 and done at 180. Of the next, two start at 1,050, and the third,
    # after them, at 1,170, when it has waited; for the last one nothing is waited for.
    latencies = [180.0, 170.0, 160.0, 150.0, 160.0, 120.0, 150.0, 100.0]
    assert found.batches == {1: 2, 2: 1, 4: 1}
    assert found.latency.mean_us == pytest.approx(np.mean(latencies))


def test_a_batch_that_nothing_ran_before_takes_as_long_as_after_a_pause() -> None:
    times = of_one([10.0], [30.0])
    found = simulate(np.array([0.0, 20.0, 100.0]), times, max_batch=1, max_wait_us=0.0)
    # The second waits for 10 µs and finds the server warm; the others don't.
    assert found.latency.mean_us == pytest.approx((30.0 + 20.0 + 30.0) / 3)


def test_what_is_beside_the_model_is_part_of_a_latency() -> None:
    beside = Overheads(issuing_us=7.0, starting_us=5.0, between_us=2.0)
    times = of_one([100.0], [100.0])._replace(overheads=beside)
    found = simulate(np.array([0.0, 20.0, 300.0]), times, max_batch=1, max_wait_us=0.0)
    # From 5 to 105; from 107 to 207, as it waits; for the last one nothing does.
    assert found.latency.mean_us == pytest.approx((105.0 + 187.0 + 105.0) / 3 + 7.0)


def test_slow_spells_are_as_long_as_they_were() -> None:
    """Half of what was measured took twice as long, at the end: then requests queue."""
    spell, mixed = (10.0,) * 500 + (20.0,) * 500, (10.0, 20.0) * 500
    p99_us = [
        simulate(
            schedule_us(0, 60_000, 0.1),
            of_one(times, times),
            max_batch=1,
            max_wait_us=0.0,
        ).latency.p99_us
        for times in (spell, mixed)
    ]
    assert p99_us[0] > 3 * p99_us[1]


def answered(came_us: Sequence[int], started_us: int, finished_us: int) -> AnsweredBatch:
    queries = [Query(0, 0, 1_000 * came) for came in came_us]
    started, finished = 1_000 * started_us, 1_000 * finished_us
    return AnsweredBatch(queries, Answered([], len(queries), started, started, finished, finished))


def test_times_under_load_tell_batches_in_a_row_from_those_after_a_pause() -> None:
    """Of each three, one waits for others that don't come, one is full by then, and one waited for
    the batch before it.
    """
    run = []
    for begin in range(0, 1_000 * LEAST, 1_000):
        run += [
            answered([begin], begin + 60, begin + 160),
            answered([begin + 200, begin + 210], begin + 215, begin + 335),
            answered([begin + 250], begin + 336, begin + 427),
        ]
    beside = Overheads(issuing_us=7.0, starting_us=5.0, between_us=2.0)
    alone = times_alone([constant(1, 50.0), constant(2, 70.0)], beside)
    found = times_under_load([run, run], alone, max_batch=2, max_wait_us=50.0)
    one, two = found.service
    assert (set(one.after_idle_us), set(one.samples_us)) == ({100.0}, {91.0})
    assert set(two.after_idle_us) == {120.0}
    assert two.samples_us == (70.0,)  # none ran so
    assert found.span_us == 2 * (1_000 * (LEAST - 1) + 427 - 60)
    # The first starts 10 µs late, the second 5, and the third 1 after the one before it.
    assert found.overheads == Overheads(issuing_us=7.0, starting_us=7.5, between_us=1.0)
    few = times_under_load([run[:3]], alone, max_batch=2, max_wait_us=50.0)
    assert few.overheads == beside


def test_a_server_that_answers_at_once_shows_what_is_beside_the_model() -> None:
    model = BatchedModel([LoadedModel(1, lambda _: [np.zeros(1)], {"x": np.zeros((1, 1))})])
    pipeline = Pipeline(model, MadeUpSamples({"x": np.zeros((1, 1))}))
    found = overheads(EvaluationRequest(model="x", max_wait_us=100.0), pipeline, 4)
    assert found.between_us > 0.0
    assert found.starting_us > 0.0
    assert found.issuing_us + found.starting_us < 50_000.0


def test_a_log_is_read_by_its_keys() -> None:
    line = ":::MLLOG " + json.dumps({"key": "result_validity", "value": "VALID", "time_ms": 1.0})
    assert read_log(f"{line}\nother\n") == {"result_validity": "VALID"}
