"""The six questions of the paper, answered from what the recording of an H200 holds."""

import io

import pytest

from benanza.installation.embedded import opened_log
from benanza.looking.bounds import known_bounds
from benanza.looking.questions import known_answers
from benanza.looking.what_if import known_what_ifs
from benanza.render.answers.questions import answers_html, print_answers
from benanza.render.table import console
from benanza.request import BoundPolicy
from benanza.results.questions import ModelAnswers
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_schemas.layer import Precision
from tests.benanza.recorded import recorded_models
from tests.benanza.report.test_report import run_of

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where models have bounds by the recording, and one was run by a framework in fp16."""
    settings = recorded_models(tmp_path_factory.mktemp("questions") / "data")
    bound = bound_of(settings, "squeezenet", "fp16")
    with opened_log(settings) as log:
        log.append([as_message(run_of(bound.model_id))])
    return settings


def bound_of(settings: Settings, model: str, precision: Precision) -> ModelBound:
    (found,) = known_bounds(settings, [model], BoundPolicy((precision,)), {}, None).bounds
    return found


def answers(settings: Settings, model: str, precision: Precision) -> ModelAnswers:
    (found,) = known_answers(settings, [model], [precision], {}).models
    return found


def test_what_follows_from_the_bounds(recorded: Settings) -> None:
    """Q2, Q5 and Q6."""
    found = answers(recorded, "inception_v1", "fp32")
    bound, half = (bound_of(recorded, "inception_v1", each) for each in ("fp32", "fp16"))
    assert bound.sequential_us is not None
    assert half.sequential_us is not None
    assert bound.parallel_us is not None
    assert found.parallel_us == bound.sequential_us - bound.parallel_us > 100
    assert found.fp16_us == bound.sequential_us - half.sequential_us
    what_ifs = known_what_ifs(recorded, ["inception_v1"], ["fp32"], {}).models[0].what_ifs
    by_name = {each.name: each for each in what_ifs}
    assert found.fusion_us == pytest.approx(by_name["without fusion"].more_us)
    assert found.tf32_us == pytest.approx(-(by_name["at tf32"].more_us or 0.0))


def test_heuristics_were_asked_about_convolutions(recorded: Settings) -> None:
    """Q3: inception_v1 has 57 of them."""
    found = answers(recorded, "inception_v1", "fp32")
    assert found.algorithms_us is not None
    assert found.algorithms_us > 0
    assert 1 <= found.algorithm_layers <= 57


def test_a_framework_s_run_stands_beside_the_bound(recorded: Settings) -> None:
    """Q1 and Q4: it takes 900 µs; 80 pass between its calls, and 20 in one that only converts."""
    found = answers(recorded, "squeezenet", "fp16")
    assert found.framework == "made-up 1.0, default"
    assert found.framework_us == 900.0
    assert found.bound.sequential_us is not None
    assert found.speed_up == 900.0 / found.bound.sequential_us
    assert found.inefficiency_us == pytest.approx(100.0)
    assert found.fp16_us is None, "it is the precision itself"


def test_without_a_run_the_others_are_answered(recorded: Settings) -> None:
    found = answers(recorded, "squeezenet", "fp32")
    assert (found.framework, found.framework_us, found.speed_up) == ("", None, None)
    assert found.inefficiency_us is None
    assert found.fusion_us is not None


def test_a_model_without_a_bound(recorded: Settings) -> None:
    with pytest.raises(BenanzaError, match="nothing is known of zoo:vgg19"):
        known_answers(recorded, ["zoo:vgg19"], ["fp32"], {})


def test_they_are_a_table_for_people(recorded: Settings) -> None:
    found = known_answers(recorded, ["squeezenet", "inception_v1"], ["fp16"], {})
    stream = io.StringIO()
    print_answers(console(stream), found)
    columns, *rows, measured_on, explained = stream.getvalue().splitlines()
    assert columns.split()[:4] == ["model", "batch", "bound", "µs"]
    assert {row.split()[0] for row in rows} == {"squeezenet", "inception_v1"}
    assert measured_on.strip() == "measured on NVIDIA H200 with cuda at fp16"
    assert explained.startswith("Q1: ")
    assert "inception_v1" in answers_html(found)
