"""Bounds under other policies, from what the recording of an H200 holds."""

from pathlib import Path

import pytest

from benanza.installation.configured import known_store
from benanza.looking.bounds import known_bounds
from benanza.looking.what_if import _what_if, known_what_ifs
from benanza.publishing.publish import PublishRequest, publish
from benanza.request import BoundPolicy
from benanza.results.what_if import ModelWhatIfs, WhatIf
from benanza_analyzer.answers.calls import Call, Cover
from benanza_backbone.clickhouse.stored_events import stored_model
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.benanza.recorded import recorded_models

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where models have bounds by the recording."""
    return recorded_models(tmp_path_factory.mktemp("what-if") / "data")


def found(settings: Settings, model: str) -> tuple[ModelWhatIfs, dict[str, WhatIf]]:
    (only,) = known_what_ifs(settings, [model], ["fp16"], {}).models
    return only, {each.name: each for each in only.what_ifs}


def test_a_bound_without_fusion_is_the_one_that_is_stored(recorded: Settings) -> None:
    only, by_name = found(recorded, "squeezenet")
    policy = BoundPolicy(("fp16",), fusion=False)
    (wanted,) = known_bounds(recorded, ["squeezenet"], policy, {}, None).bounds
    without = by_name["without fusion"]
    assert without.sequential_us == pytest.approx(wanted.sequential_us)
    assert only.bound.sequential_us is not None
    assert without.more_us == pytest.approx(without.sequential_us - only.bound.sequential_us)
    assert without.ratio is not None
    assert without.ratio > 1


def test_another_precision_is_that_one_s_bound(recorded: Settings) -> None:
    _, by_name = found(recorded, "squeezenet")
    (wanted,) = known_bounds(recorded, ["squeezenet"], BoundPolicy(("fp32",)), {}, None).bounds
    assert by_name["at fp32"].sequential_us == pytest.approx(wanted.sequential_us)
    assert by_name["at fp32"].precision == "fp32"


def test_differences_of_layers_add_up(recorded: Settings) -> None:
    _, by_name = found(recorded, "squeezenet")
    comparable = [each for each in by_name.values() if each.more_us is not None]
    assert len(comparable) >= 4
    for each in comparable:
        assert sum(of.us - of.bound_us for of in each.layers) == pytest.approx(each.more_us)
        sizes = [abs(of.us - of.bound_us) for of in each.layers]
        assert sizes == sorted(sizes, reverse=True)
        assert all(len(of.layers) == len(of.op.split("+")) for of in each.layers)


def test_fewer_choices_are_never_faster(recorded: Settings) -> None:
    for model in ("squeezenet", "inception_v1"):
        _, by_name = found(recorded, model)
        restricted = [each for each in by_name.values() if not each.name.startswith("at ")]
        assert all(each.more_us is None or each.more_us > 0 for each in restricted)


def test_bounds_that_lack_other_layers_have_no_ratio(recorded: Settings) -> None:
    """They may lack as many."""
    only, _ = found(recorded, "squeezenet")
    with known_store(recorded) as store:
        model = stored_model(store, only.bound.model_id)

    def cover(missing: int) -> Cover:
        calls = [
            Call((at,), "", 3.0, 0.0, 0.0, 0, 0.0, critical=True) for at in {0, 1, 2} - {missing}
        ]
        return Cover(calls, {}, frozenset({missing}), 0.0)

    other = _what_if("other", "fp16", model, cover(0), cover(1))
    assert (other.ratio, other.more_us, other.layers, other.lacking) == (None, None, (), 1)
    assert _what_if("same", "fp16", model, cover(0), cover(0)).ratio == 1.0


def test_what_lacks_layers_has_no_ratio(recorded: Settings) -> None:
    _, by_name = found(recorded, "inception_v1")
    alone = by_name["calls of libraries alone"]
    assert (alone.ratio, alone.more_us) == (None, None)
    assert alone.lacking > 0


def test_batch_sizes_are_compared_by_sample(tmp_path: Path) -> None:
    settings = recorded_models(tmp_path / "data")
    publish(["zoo:squeezenet"], PublishRequest(batch_sizes=(32,)), settings)
    (found,) = known_what_ifs(settings, ["squeezenet"], ["fp16"], {}).batch_sizes
    assert [each.batch for each in found.sizes] == [1, 32]
    bounds = known_bounds(settings, ["squeezenet"], BoundPolicy(("fp16",)), {}, None).bounds
    assert {each.sequential_us for each in found.sizes} == {each.sequential_us for each in bounds}
    assert found.sizes[1].saves is not None
    assert found.sizes[1].saves > 0


def test_a_model_without_a_bound_is_an_error(recorded: Settings) -> None:
    with pytest.raises(BenanzaError, match=r"nothing is known of .*missing\.onnx"):
        known_what_ifs(recorded, ["missing.onnx"], ["fp16"], {})
