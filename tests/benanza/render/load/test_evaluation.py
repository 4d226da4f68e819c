"""A model under load, as text of 80 columns."""

import io
from datetime import UTC, datetime

import msgspec
import pytest
from rich.console import Console

from benanza.evaluating.repeated import repeated
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import (
    EvaluatedModel,
    Evaluation,
    FrameworkLoss,
    LoadPart,
    MeasuredLoad,
    Percentiles,
    ServiceTimes,
    Validity,
)
from benanza.render.load.evaluation import evaluation_html, print_evaluation, print_repeated
from tests.schemas.samples import SYSTEM, some_id

LATENCY = Percentiles(mean_us=5_000.0, p50_us=4_800.0, p90_us=6_000.0, p99_us=9_000.0, p999_us=None)
CHECKS = {"performance constraints": True, "minimum duration": True, "early stopping": True}
MEASURED = MeasuredLoad(
    validity=Validity(valid=True, checks=CHECKS, reason=""),
    queries=662,
    samples=662,
    per_s=100.0,
    latency=LATENCY,
    issuing_us=100.0,
    queueing=LATENCY,
    filling_us=200.0,
    computing=LATENCY,
    prepare_us=1.0,
    run_us=2_000.0,
    finish_us=1.0,
    batches={1: 662},
)
ALONE = ServiceTimes(batch=1, median_us=3_000.0, samples_us=(3_000.0,), after_idle_us=(3_100.0,))
EVALUATION = Evaluation(
    request=EvaluationRequest(model="zoo:net", scenario="server"),
    name="net",
    model_id=some_id("a"),
    sha256="0" * 64,
    dims={},
    system=SYSTEM,
    configuration="default options",
    loadgen="6.0.17",
    samples="made up",
    evaluated_at=datetime(2026, 11, 28, tzinfo=UTC),
    service=(
        ServiceTimes(batch=1, median_us=3_000.0, samples_us=(3_000.0,), after_idle_us=(3_000.0,)),
    ),
    limit_us=15_000.0,
    rate_per_s=101.5,
    searched=True,
    measured=MEASURED,
    simulated=LATENCY,
    slowed_by="other programs",
)
FOUND = EvaluatedModel(
    evaluation=EVALUATION,
    bound_us=2_400.0,
    bound_batch=1,
    bound_per_s=500.0,
    bound_per_s_batch=8,
    parts=(LoadPart(kind="the bound", us=2_400.0), LoadPart(kind="the framework", us=600.0)),
    losses=(FrameworkLoss(kind="slower call", us=450.0),),
    without_bound="",
)


def shown(found: EvaluatedModel) -> str:
    stream = io.StringIO()
    print_evaluation(Console(file=stream, width=80, force_terminal=True, color_system=None), found)
    return stream.getvalue()


def test_it_says_what_stands_between() -> None:
    text = shown(FOUND)
    assert max(map(len, text.splitlines())) <= 80
    assert "LoadGen: VALID" in text
    assert "101.5 requests/s keep the limit, 99% within 15.00 ms" in text
    assert "20% of the bound's 500.0/s at batch" in text
    assert "up to 2.00 times" in text
    for part in ("as simulated", "the framework", "  profiled: slower call", "450.0"):
        assert part in text
    assert "slowed down by other programs" in text
    assert "20% of the bound" in evaluation_html(FOUND)


def test_what_loadgen_refuses_has_its_reason() -> None:
    checks = CHECKS | {"performance constraints": False}
    validity = Validity(valid=False, checks=checks, reason="Reduce target QPS.")
    measured = msgspec.structs.replace(MEASURED, validity=validity)
    evaluation = msgspec.structs.replace(EVALUATION, measured=measured)
    text = shown(msgspec.structs.replace(FOUND, evaluation=evaluation))
    assert "INVALID" in text
    assert "performance constraints NO" in text
    assert "Reduce target QPS." in " ".join(text.split())
    lowest = "101.5 requests/s, the lowest that was tried for the whole duration: none was valid"
    assert lowest in " ".join(text.split())


def test_without_a_bound_it_says_how_to_have_one() -> None:
    lacking = "no full bound of it is known on this device; say: benanza run zoo:net --batch 1"
    found = msgspec.structs.replace(
        FOUND, bound_us=None, bound_per_s=None, losses=(), parts=(), without_bound=lacking
    )
    text = " ".join(shown(found).split())
    assert lacking in text


def test_a_failure_is_all_there_is() -> None:
    failed = msgspec.structs.replace(EVALUATION, measured=None, failure="it has no kernel")
    text = shown(msgspec.structs.replace(FOUND, evaluation=failed))
    assert text.splitlines()[1:] == ["failed: it has no kernel"]


def test_what_is_repeated_says_its_spread() -> None:
    runs = []
    for throughput in (100.0, 102.5, 101.0):
        measured = msgspec.structs.replace(MEASURED, per_s=throughput)
        evaluation = msgspec.structs.replace(EVALUATION, measured=measured)
        runs.append(msgspec.structs.replace(FOUND, evaluation=evaluation))
    failed = msgspec.structs.replace(EVALUATION, measured=None, failure="no memory")
    runs.append(msgspec.structs.replace(FOUND, evaluation=failed))
    found = repeated(runs)
    assert found.middle == runs[2]
    per_s, p50, _ = found.figures
    assert (per_s.median, per_s.least, per_s.greatest) == (101.0, 100.0, 102.5)
    assert per_s.spread == pytest.approx(0.025)
    assert p50.spread == 0.0
    stream = io.StringIO()
    print_repeated(Console(file=stream, width=80, force_terminal=True, color_system=None), found)
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    (row,) = [line for line in text.splitlines() if "samples/s" in line]
    assert [cell for cell in row.split() if cell[0].isdigit()] == [
        "101.0",
        "100.0",
        "102.5",
        "2.5%",
    ]
    assert "1 of 4 failed: no memory" in text
