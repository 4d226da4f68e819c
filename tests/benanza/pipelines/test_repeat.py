"""Pipelines that are repeated: what is the same, and each pitfall by its name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantType, quantize_dynamic

from benanza.evaluating.batches import BatchedModel
from benanza.pipelines.images.steps import Layout
from benanza.pipelines.reading import read_pipeline, write_pipeline
from benanza.pipelines.results import RepeatedPipeline
from benanza.pipelines.specification import PipelineScenario, PipelineSpecification
from benanza_backbone.errors import BenanzaError
from tests.benanza.pipelines.conftest import DIGITS, ran

Change = Callable[[PipelineSpecification], PipelineSpecification]

replaced = msgspec.structs.replace


def test_what_is_repeated_as_it_was_recorded_agrees(
    recorded: PipelineSpecification, tmp_path: Path
) -> None:
    run = ran(recorded, tmp_path / "pipeline.toml")
    result = run.result
    assert result.agrees
    assert (result.differences, result.changed, result.pitfalls) == ((), (), ())
    assert result.same_predictions
    top_1, top_5 = result.accuracies
    assert top_1.samples == 40
    assert top_1.share == top_1.recorded_share
    assert top_1.share > 0.7
    assert top_5.share >= top_1.share
    assert top_1.interval.least < top_1.share < top_1.interval.greatest
    assert run.here.recorded is not None
    assert recorded.recorded is not None
    assert run.here.recorded.steps == recorded.recorded.steps
    assert sum(each is not None for each in run.named) == 40


def _step(position: int, **changes: Any) -> Change:
    def change(pipeline: PipelineSpecification) -> PipelineSpecification:
        steps = list(pipeline.steps)
        steps[position] = replaced(steps[position], **changes)
        return replaced(pipeline, steps=tuple(steps))

    return change


def _order(*positions: int) -> Change:
    return lambda pipeline: replaced(
        pipeline, steps=tuple(pipeline.steps[position] for position in positions)
    )


def _output(**changes: Any) -> Change:
    return lambda pipeline: replaced(pipeline, output=replaced(pipeline.output, **changes))


def _truncated(pipeline: PipelineSpecification) -> PipelineSpecification:
    return _output(labels=pipeline.output.labels[:10])(pipeline)


PITFALLS: dict[str, tuple[str, Change]] = {
    "colours": ("swapped colour channels", _step(0, colours="BGR")),
    "decoder": ("another decoder", _step(0, library="simplejpeg", jpeg="fast")),
    "interpolation": (
        "another interpolation",
        _step(1, interpolation="nearest", antialias=False),
    ),
    "order": ("normalise before or after the cast", _order(0, 1, 2, 4, 3, 5)),
    "layout": ("NHWC for NCHW", _step(5, by="reshape")),
    "crop": ("crop for resize", _order(0, 2, 3, 4, 5)),
    "size": ("another size", _step(1, shorter=38)),
    "offset": ("truncated or shifted labels", _output(offset=1)),
    "truncated": ("truncated or shifted labels", _truncated),
}


@pytest.fixture(scope="session")
def injected(
    recorded: PipelineSpecification, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, RepeatedPipeline]:
    folder = tmp_path_factory.mktemp("injected")
    return {
        what: ran(change(recorded), folder / f"{what}.toml").result
        for what, (_, change) in PITFALLS.items()
    }


@pytest.mark.parametrize("what", PITFALLS)
def test_an_injected_pitfall_is_named_and_no_other(
    what: str, injected: dict[str, RepeatedPipeline]
) -> None:
    result = injected[what]
    assert {pitfall.name for pitfall in result.pitfalls} == {PITFALLS[what][0]}
    assert not result.agrees
    assert result.changed
    assert {each.what for each in result.differences} <= {"software.simplejpeg"}


def test_pitfalls_cost_accuracy_as_they_must(injected: dict[str, RepeatedPipeline]) -> None:
    right = {what: result.accuracies[0] for what, result in injected.items()}
    assert right["colours"].right == right["offset"].right == 0
    assert all(right[what].differs for what in ("order", "layout", "crop", "truncated"))
    assert not any(right[what].differs for what in ("decoder", "interpolation"))
    assert injected["offset"].same_predictions, "the scores are those of before"
    assert not injected["interpolation"].same_predictions


def test_a_layout_that_the_model_refuses_fails_all_samples_with_the_reason(
    recorded: PipelineSpecification, tmp_path: Path
) -> None:
    steps = (*recorded.steps[:5], Layout(to="NHWC"))
    result = ran(replaced(recorded, steps=steps, recorded=None), tmp_path / "p.toml").result
    assert [each.name for each in result.pitfalls] == ["NHWC for NCHW"]
    assert "make 32x32x3, and the model takes 3x32x32" in result.pitfalls[0].shown_by
    assert len(result.failed) == 40
    assert result.accuracies[0].right == 0


def test_results_that_depend_on_the_batch_are_found(
    recorded: PipelineSpecification, tmp_path: Path
) -> None:
    quantised = tmp_path / "int8.onnx"
    quantize_dynamic(DIGITS / "model.onnx", quantised, weight_type=QuantType.QUInt8)
    model = replaced(recorded.model, source=quantised.name)
    result = ran(replaced(recorded, model=model), tmp_path / "p.toml").result
    assert [each.name for each in result.pitfalls] == ["batch-dependent results"]
    assert "7 of 7 samples have other scores in a batch" in result.pitfalls[0].shown_by
    assert [each.what for each in result.differences] == ["model.sha256"]
    one = replaced(recorded.framework, batch=1)
    alone = ran(replaced(recorded, model=model, framework=one), tmp_path / "p.toml").result
    assert alone.pitfalls == ()
    assert [each.what for each in alone.changed] == ["framework.batch"]


@pytest.mark.parametrize("what", ["colours", "interpolation"])
def test_what_nobody_wrote_down_is_found_by_the_digests(
    what: str, recorded: PipelineSpecification, tmp_path: Path
) -> None:
    """The record is of a program that had the pitfall, though the steps say that it hadn't."""
    name, change = PITFALLS[what]
    wrong = ran(replaced(change(recorded), recorded=None), tmp_path / "wrong.toml").here.recorded
    assert wrong is not None
    assert recorded.recorded is not None
    said = tuple(
        replaced(step, did=did.did)
        for step, did in zip(wrong.steps, recorded.recorded.steps, strict=True)
    )
    pretended = replaced(recorded, recorded=replaced(wrong, steps=said))
    result = ran(pretended, tmp_path / "p.toml").result
    assert [pitfall.name for pitfall in result.pitfalls] == [name]
    assert [each.what.split(" ")[0] for each in result.changed] == ["what"]


def test_other_samples_of_the_data_set_are_a_change(
    recorded: PipelineSpecification, tmp_path: Path
) -> None:
    data = replaced(recorded.data, samples=30, seed=1)
    result = ran(replaced(recorded, data=data), tmp_path / "p.toml").result
    said = {each.what: (each.specified, each.found) for each in result.changed}
    assert said == {"data.samples": ("30", "40"), "data.seed": ("1", "0")}
    assert result.differences == ()


def test_failed_samples_are_counted_and_named(
    recorded: PipelineSpecification, tmp_path: Path
) -> None:
    images = tmp_path / "images"
    files = sorted((DIGITS / "images").glob("*/*"))[:9]
    for file in files:
        copy = images / file.parent.name / file.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    (images / files[0].parent.name / "Thumbs.db").write_bytes(b"no image")
    cut = images / files[4].parent.name / files[4].name
    cut.write_bytes(cut.read_bytes()[:700])
    data = replaced(recorded.data, source="images", samples=10)
    result = ran(replaced(recorded, data=data), tmp_path / "p.toml").result
    assert [each.name.split("/")[1] for each in result.failed] == ["Thumbs.db", files[4].name]
    assert result.accuracies[0].samples == 10
    assert result.accuracies[0].right <= 8
    assert [each.what for each in result.differences] == ["data.sha256"]
    assert [each.what for each in result.changed] == ["data.samples"]
    assert result.pitfalls == (), "other files have other digests"
    assert not result.agrees


def test_other_versions_and_machines_are_said_and_no_matter(
    recorded: PipelineSpecification, tmp_path: Path
) -> None:
    framework = replaced(recorded.framework, version="1.0")
    assert recorded.recorded is not None
    then = replaced(
        recorded,
        framework=framework,
        recorded=replaced(recorded.recorded, framework=framework),
        software=recorded.software | {"pillow": "1.0"},
        hardware={"cpu": "another"},
    )
    result = ran(then, tmp_path / "p.toml").result
    said = {each.what: each.specified for each in result.differences}
    assert said["framework.version"] == said["software.pillow"] == "1.0"
    assert said["hardware.cpu"] == "another"
    assert result.agrees


def test_options_that_the_configuration_does_not_have_are_a_difference(
    specified: PipelineSpecification, tmp_path: Path
) -> None:
    """They aren't set, so what runs isn't what is specified."""
    (name, *_) = specified.framework.options
    framework = replaced(
        specified.framework, options=specified.framework.options | {name: "another"}
    )
    result = ran(replaced(specified, framework=framework), tmp_path / "p.toml").result
    assert [each.what for each in result.differences] == [f"framework.options.{name}"]
    assert not result.agrees


def test_samples_whose_scores_are_no_numbers_fail(
    specified: PipelineSpecification, tmp_path: Path
) -> None:
    model = onnx.load(DIGITS / "model.onnx")
    bias = next(each for each in model.graph.initializer if len(each.dims) == 1)
    numbers = onnx.numpy_helper.to_array(bias)
    bias.CopyFrom(onnx.numpy_helper.from_array(np.full_like(numbers, np.nan), bias.name))
    onnx.save(model, tmp_path / "nan.onnx")
    broken = replaced(specified, model=replaced(specified.model, source="nan.onnx"))
    result = ran(broken, tmp_path / "p.toml").result
    assert {each.reason for each in result.failed} == {"none of its scores is a number"}
    assert [each.right for each in result.accuracies] == [0, 0]
    assert not result.agrees


def test_of_several_outputs_one_is_named(specified: PipelineSpecification, tmp_path: Path) -> None:
    model = onnx.load(DIGITS / "model.onnx")
    (scores,) = model.graph.output
    other = onnx.helper.make_node("ReduceSum", [scores.name], ["sum"], keepdims=1)
    model.graph.node.append(other)
    model.graph.output.insert(0, onnx.helper.make_tensor_value_info("sum", 1, None))
    onnx.save(model, tmp_path / "two.onnx")
    two = replaced(specified, model=replaced(specified.model, source="two.onnx"))
    with pytest.raises(BenanzaError, match=f"several outputs, sum, {scores.name}; set name in"):
        ran(two, tmp_path / "p.toml")
    with pytest.raises(BenanzaError, match="no output 'none', but sum"):
        ran(_output(name="none")(two), tmp_path / "p.toml")
    found = ran(_output(name=scores.name)(two), tmp_path / "p.toml").result
    assert found.accuracies == ran(specified, tmp_path / "one.toml").result.accuracies


def test_open_sizes_are_bound_by_the_specification(
    specified: PipelineSpecification, tmp_path: Path
) -> None:
    model = onnx.load(DIGITS / "model.onnx")
    height = model.graph.input[0].type.tensor_type.shape.dim[2]
    height.dim_param = "height"
    onnx.save(model, tmp_path / "open.onnx")
    source = replaced(specified.model, source="open.onnx", dims={"height": 32})
    run = ran(replaced(specified, model=source), tmp_path / "p.toml")
    assert run.result.accuracies[0].share > 0.7
    other = replaced(run.here, model=replaced(run.here.model, dims={"height": 33}))
    result = ran(other, tmp_path / "p.toml").result
    assert "model.dims.height" in [each.what for each in result.changed]
    assert len(result.failed) == 40, "the steps make another size"


def test_a_file_whose_name_is_no_text_is_named_by_its_bytes(
    specified: PipelineSpecification, tmp_path: Path
) -> None:
    name = os.fsdecode(b"\xe9.jpg")
    file = next((DIGITS / "images").glob("*/*"))
    copy = tmp_path / "images" / file.parent.name / name
    copy.parent.mkdir(parents=True)
    copy.write_bytes(file.read_bytes())
    data = replaced(specified.data, source="images", samples=1)
    run = ran(replaced(specified, data=data), tmp_path / "p.toml")
    write_pipeline(run.here, tmp_path / "p.toml")
    recorded = read_pipeline(tmp_path / "p.toml").recorded
    assert recorded is not None
    assert recorded.witnesses == (f"{file.parent.name}/\\xe9.jpg",)


def test_a_scenario_is_run_and_recorded(recorded: PipelineSpecification, tmp_path: Path) -> None:
    scenario = PipelineScenario(name="single-stream", duration_s=0.05)
    run = ran(replaced(recorded, scenario=scenario), tmp_path / "p.toml")
    assert run.result.under_load is not None
    measured = run.result.under_load.evaluation.measured
    assert measured is not None
    assert measured.prepare_us > 0
    assert run.here.recorded is not None
    load = run.here.recorded.under_load
    assert load is not None
    assert load.per_s == measured.per_s


def test_what_can_t_be_run_is_said(recorded: PipelineSpecification, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    framework = replaced(recorded.framework, configuration="fastest")
    with pytest.raises(BenanzaError, match="no configuration 'fastest' here; it has default"):
        ran(replaced(recorded, framework=framework), file)
    with pytest.raises(
        BenanzaError, match="the data set has 40 samples, fewer than 41; lower samples"
    ):
        ran(replaced(recorded, data=replaced(recorded.data, samples=41)), file)
    with pytest.raises(BenanzaError, match="there is no framework 'none'"):
        ran(replaced(recorded, framework=replaced(recorded.framework, name="none")), file)
    with pytest.raises(BenanzaError, match="there is no file"):
        ran(replaced(recorded, model=replaced(recorded.model, source="none.onnx")), file)


def test_a_call_that_fails_is_said(
    specified: PipelineSpecification, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(BatchedModel, "run", fails)
    with pytest.raises(BenanzaError, match="the model can't be run: CUDA out of memory"):
        ran(specified, tmp_path / "p.toml")


def test_the_model_is_as_small_as_it_says() -> None:
    model = onnx.load(DIGITS / "model.onnx")
    weights = sum(onnx.numpy_helper.to_array(each).size for each in model.graph.initializer)
    assert 20_000 < weights < 40_000
    assert not any(node.metadata_props for node in model.graph.node)
