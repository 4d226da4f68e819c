"""The study's tables of bounds, and that its page has them as the recordings give them."""

from pathlib import Path

import pytest

from benanza.looking.questions import known_answers
from benanza.publishing.publish import PublishRequest, publish
from benanza.results.questions import ModelAnswers
from benanza_backbone.settings import load
from benchmarks.pytorch.rows import Timed, TorchAttempt, read
from study.__main__ import MEASURED, PYTORCH
from study.bound_tables import bound_tables, speed_ups
from study.pytorch_times import pytorch_times, without_time
from tests.benanza.recorded import import_of

PAGE = Path(__file__).parents[2] / "docs" / "study.md"
MODELS = ["squeezenet", "torchvision:resnet18", "timm:starnet_s1"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[ModelAnswers]:
    settings = load({"BENANZA_DATA": str(tmp_path_factory.mktemp("study") / "data")})
    # The other recordings are of another type or batch size.
    import_of([(name, 1) for name in MODELS], MEASURED[:2], settings)
    of_the_zoo = [f"zoo:{name}" for name in MODELS]
    publish(of_the_zoo, PublishRequest(), settings)
    return [*known_answers(settings, of_the_zoo, ["fp16"], {}).models]


@pytest.fixture(scope="module")
def times() -> dict[str, float]:
    return pytorch_times(row for row in read([PYTORCH]) if isinstance(row, Timed))


@pytest.mark.integration
def test_the_page_has_what_the_recordings_give(
    answers: list[ModelAnswers], times: dict[str, float]
) -> None:
    page = PAGE.read_text(encoding="utf-8").splitlines()
    lines = bound_tables(answers, times)
    assert lines[0].startswith("Bounds with full coverage: 3 of 3.")
    rows = [each for each in lines if each.startswith(("| squeezenet", "| torch", "| timm"))]
    assert len(rows) == 3
    assert set(rows) <= set(page)


@pytest.mark.integration
def test_a_speed_up_is_the_time_without_the_remedy_over_that_with_it(
    answers: list[ModelAnswers],
) -> None:
    for each in answers:
        bound_us, parallel_us = each.bound.sequential_us, each.bound.parallel_us
        assert bound_us
        assert parallel_us
        found = speed_ups(each, 2 * bound_us)
        assert found.pytorch == 2.0
        assert found.fusion == pytest.approx(1 + (each.fusion_us or 0.0) / bound_us)
        assert found.parallel == pytest.approx(bound_us / parallel_us)
        assert found.joint == pytest.approx(
            (found.algorithms or 0.0) * (found.fusion or 0.0) * (found.parallel or 0.0)
        )
        assert speed_ups(each, None).pytorch is None


def test_a_run_with_a_wrong_result_is_no_time_of_pytorch() -> None:
    right = TorchAttempt(configuration="compiled", median_us=5.0)
    wrong = TorchAttempt(configuration="eager", median_us=1.0, failure="differs")
    rows = [
        Timed(model="resnet18", precision="fp16", batch=1, attempts=(wrong, right)),
        Timed(model="timm:resnet18", precision="fp16", batch=1, attempts=(wrong,)),
        Timed(model="timm:resnet26", precision="fp32", batch=1, attempts=(right,)),
        Timed(model="timm:resnet34", precision="fp16", batch=8, attempts=(right,)),
    ]
    assert pytorch_times(rows) == {"torchvision:resnet18": 5.0}
    assert without_time(rows) == {"timm:resnet18, fp16, batch 1": "differs"}
