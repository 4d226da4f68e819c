"""The study's tables of bounds, and that its page has them as the recordings give them."""

from pathlib import Path
from statistics import geometric_mean

import pytest
from msgspec.structs import replace

from benanza.looking.questions import known_answers
from benanza.publishing.publish import PublishRequest, publish
from benanza.results.questions import ModelAnswers
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.settings import load
from benanza_schemas.events import identified
from study.__main__ import MEASURED, PYTORCH
from study.bound_tables import bound_tables, speed_ups
from study.findings import findings
from study.population import Composition
from study.pytorch_failures import without_time
from tests.backbone.sample_events import MODEL, PROFILED
from tests.benanza.recorded import import_of

PAGE = Path(__file__).parents[2] / "docs" / "results" / "study.md"
PYTORCH_SYSTEM = identified(replace(PROFILED.system, runtime="pytorch"))
MODELS = ["squeezenet", "torchvision:resnet18", "timm:starnet_s1"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[ModelAnswers]:
    settings = load({"BENANZA_DATA": str(tmp_path_factory.mktemp("study") / "data")})
    # The others are of another type or batch size.
    import_of([(name, 1) for name in MODELS], [*MEASURED[:2], MEASURED[-1], PYTORCH], settings)
    of_the_zoo = [f"zoo:{name}" for name in MODELS]
    publish(of_the_zoo, PublishRequest(), settings)
    return [*known_answers(settings, of_the_zoo, ["fp16"], {}).models]


@pytest.mark.integration
def test_the_page_has_what_the_recordings_give(answers: list[ModelAnswers]) -> None:
    page = PAGE.read_text(encoding="utf-8").splitlines()
    lines = bound_tables(answers)
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
        found = speed_ups(replace(each, framework_us=2 * bound_us))
        assert found.pytorch == 2.0
        assert found.fusion == pytest.approx(1 + (each.fusion_us or 0.0) / bound_us)
        assert found.parallel == pytest.approx(bound_us / parallel_us)
        assert found.joint == pytest.approx(
            (found.algorithms or 0.0) * (found.fusion or 0.0) * (found.parallel or 0.0)
        )
        assert speed_ups(replace(each, framework_us=None)).pytorch is None


@pytest.mark.integration
def test_findings_are_of_the_models_that_are_known(answers: list[ModelAnswers]) -> None:
    twice = Composition("twice", (("a", "Conv"), ("a", "Conv")))
    lines = findings([twice], answers, answers, answers, 8)
    assert lines[0] == "- Of 2 layers in 1 models, 1 are unique, 50.0%: only these are measured."
    known = [each for each in (speed_ups(each).pytorch for each in answers) if each is not None]
    assert 0 < len(known) < len(answers)
    mean, models = f"{geometric_mean(known):.2f}", len(known)
    assert f"at least {min(known):.2f} times as long" in lines[3]
    means = f"over {models}, {models} and {models} models are {mean}, {mean} and {mean}."
    assert lines[3].endswith(means)


@pytest.mark.integration
def test_a_model_with_wrong_results_alone_is_named(tmp_path: Path) -> None:
    """Of several configurations, one that is right is enough."""
    right = replace(PROFILED, configuration="compiled")
    wrong = replace(right, event_id="1" * 32, configuration="eager", times=None, failure="differs")
    with Store.open(f"chdb://{tmp_path}/store") as store:
        store.insert([MODEL, replace(wrong, system=PYTORCH_SYSTEM)])
        assert without_time(store) == {f"{MODEL.name}, fp32, batch {MODEL.batch}": "differs"}
        store.insert([replace(right, system=PYTORCH_SYSTEM)])
        assert without_time(store) == {}
