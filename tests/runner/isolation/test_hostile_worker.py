"""What a worker answers that a layer has taken over is a failure of that layer."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.worker.frames import FrameError
from benanza_backbone.worker.process import decoded
from benanza_runner.isolation import isolated_runtime
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.isolation.messages import Measured, encoder, replies
from benanza_runner.runtime import Outcome
from tests.runner.fake_runtime import variant
from tests.runner.isolation import hostile
from tests.runner.layers import floats, relu, single

LIMITS = WorkerLimits(layer_seconds=0.5, tries=2)

NO_ANSWER = "gave no result in 2 tries: answered what is no answer: .*"

ANSWERS = {
    "Noise": NO_ANSWER,
    "Pickle": NO_ANSWER,
    "Announce": NO_ANSWER,
    "CutOff": "gave no result in 2 tries: the process ended with status 0",
    "WithoutEnd": r"gave no result in 2 tries: took longer than 0\.5 seconds",
    "Nest": NO_ANSWER,
    "WrongKind": "answered with a CeilingsMeasured",
    "Lines": r"is \S*no",
}


@pytest.fixture(scope="module")
def runtime() -> Iterator[IsolatedRuntime]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolated_runtime, "WORKER_MODULE", hostile.__name__)
        with IsolatedRuntime("hostile:Hostile", limits=LIMITS) as runtime:
            yield runtime


def measured(runtime: IsolatedRuntime, op_type: str, **attributes: str) -> Outcome:
    layer = single(op_type, 1, (floats(2),), (floats(2),), domain="tests", **attributes)
    return runtime.measure(layer, "fp32")


@pytest.mark.integration
@pytest.mark.parametrize("op_type", ANSWERS)
def test_it_costs_the_layer_that_did_it(
    runtime: IsolatedRuntime, op_type: str, tmp_path: Path
) -> None:
    file = tmp_path / "created"
    given = {"path": str(file)} if op_type == "Pickle" else {}
    outcome = measured(runtime, op_type, **given)
    assert re.match(ANSWERS[op_type], outcome.failure)
    assert len(outcome.failure) < 3000
    assert outcome.failure.isprintable()
    assert not file.exists()
    assert runtime.measure(relu(2), "fp32").variants == (variant(1.0),)


@pytest.mark.integration
def test_an_answer_to_the_next_question_is_not_taken(runtime: IsolatedRuntime) -> None:
    assert measured(runtime, "Twice").variants
    after = runtime.measure(relu(2), "fp32")
    assert after.variants == (variant(1.0),)
    assert after.environment["attempts"] == "2"


@given(message=st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_refused(message: bytes) -> None:
    whole = encoder.encode(Measured(Outcome(variants=(variant(1.0),))))
    for reply in (message, whole[: len(message)] + message, message + whole[len(message) :]):
        try:
            decoded(reply, replies)
        except FrameError:
            continue
