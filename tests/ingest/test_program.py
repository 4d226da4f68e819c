"""A program is the model that it was made of, whatever blocks it is made of."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest

from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.program import program
from benanza_ingest.reading.zoo import zoo_names, zoo_path
from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.session import CPU, session_options
from benanza_schemas.program import Program, ProgramStep
from tests.attending_model import attending_model
from tests.branching_model import branching_model
from tests.ingest.onnx_text import content as written_as_text

Values = dict[str, npt.NDArray[Any]]


def blocks_of(model: ExtractedModel, *, fused: bool) -> dict[tuple[int, ...], str]:
    """Every layer once, as many as may be in groups; with the fingerprint of each."""
    blocks: dict[tuple[int, ...], str] = {}
    taken: set[int] = set()
    for group in sorted(model.groups, key=lambda group: -len(group.layers)):
        if fused and taken.isdisjoint(group.layers):
            blocks[group.layers] = group.fingerprint
            taken.update(group.layers)
    return blocks | {
        (position,): layer.fingerprint
        for position, layer in enumerate(model.layers)
        if layer.kind in ("compute", "movement") and position not in taken
    }


def as_program(content: bytes, blocks: Mapping[tuple[int, ...], str]) -> Program:
    return program(content, list(blocks), fingerprints=blocks)


def run(step: ProgramStep, values: Mapping[str, npt.NDArray[Any]]) -> Values:
    """What ONNX Runtime makes of a step's layer, with these values of the model."""
    model = layer_model(step.layer)
    for given in (model.constants, model.inputs):
        for name in given:
            given[name] = values[step.names[int(name.removeprefix("t"))]]
    options = session_options(model.constants, CPU, 1)
    session = ort.InferenceSession(model.proto.SerializeToString(), options, providers=[CPU.name])
    results = session.run([f"t{index}" for index in step.layer.outputs], model.inputs)
    return dict(zip((step.names[i] for i in step.layer.outputs), results, strict=True))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(
    "content", [branching_model(), attending_model()], ids=["branches", "attends"]
)
def test_its_steps_one_after_the_other_compute_what_the_model_does(
    content: bytes, fused: bool
) -> None:
    model = onnx.load_model_from_string(content)
    values: Values = {w.name: onnx.numpy_helper.to_array(w) for w in model.graph.initializer}
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    values["x"] = np.random.default_rng(2).standard_normal(shape, np.float32)
    expected = ort.InferenceSession(content, providers=[CPU.name]).run(["y"], {"x": values["x"]})
    made = as_program(content, blocks_of(extract(content), fused=fused))
    assert any(len(step.positions) > 1 for step in made.steps) == fused
    for step in made.steps:
        values |= run(step, values)
    np.testing.assert_allclose(values["y"], expected[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", zoo_names())
@pytest.mark.parametrize("fused", [False, True])
def test_each_step_reads_what_came_before_and_is_the_layer_that_it_says(
    name: str, fused: bool
) -> None:
    content = zoo_path(name).read_bytes()
    model = extract(content)
    blocks = blocks_of(model, fused=fused)
    made = as_program(content, blocks)
    fingerprints = blocks | {(at,): layer.fingerprint for at, layer in enumerate(model.layers)}
    assert [fingerprints[step.positions] for step in made.steps] == [
        step.fingerprint for step in made.steps
    ]
    assert read_before_written(made) == set()
    assert set(made.outputs) <= written(made)
    positions = sorted(position for step in made.steps for position in step.positions)
    assert positions == list(range(len(model.layers)))


def written(made: Program) -> set[str]:
    return {step.names[index] for step in made.steps for index in step.layer.outputs}


def read_before_written(made: Program) -> set[str]:
    """Values that a step reads though a later one writes them."""
    everything, so_far, early = written(made), set[str](), set[str]()
    for step in made.steps:
        early |= {step.names[index] for index in step.layer.inputs()} & (everything - so_far)
        so_far |= {step.names[index] for index in step.layer.outputs}
    return early


def test_what_an_attention_moves_has_no_name_in_the_model() -> None:
    content = attending_model()
    made = as_program(content, blocks_of(extract(content), fused=True))
    (step,) = (step for step in made.steps if "Attention" in step.layer.title())
    assert step.layer.title().startswith("Reshape+Slice+Transpose+Slice")
    named = {step.names[index]: index for index in step.layer.inputs() if step.names[index]}
    assert set(named) == {"b", "m"}
    assert [step.names[index] for index in step.layer.outputs] == ["t"]


def test_layers_that_are_two_groups_are_the_one_that_was_measured() -> None:
    """A division of one is a group with its number, and a region without."""
    content = written_as_text(
        "g (float[4,8] x, float[4,8] z) => (y) <float one = {1.0}>{ d = Div(one, x) y = Mul(d, z) }"
    )
    groups = extract(content).groups
    assert {group.layers for group in groups} == {(0, 1)}
    assert len({group.fingerprint for group in groups}) == 2
    for group in groups:
        chosen = {group.layers: group.fingerprint}
        (step,) = program(content, [group.layers], fingerprints=chosen).steps
        assert step.fingerprint == group.fingerprint
        values = sorted(str(tensor.value) for tensor in step.layer.tensors)
        assert values == sorted(str(tensor.value) for tensor in group.layer.tensors)


def test_a_layer_that_no_block_holds_is_left_out() -> None:
    content = branching_model()
    model = extract(content)
    some = [block for block in blocks_of(model, fused=False) if block != (0,)]
    assert 0 not in {
        position for step in program(content, some).steps for position in step.positions
    }


def test_what_has_no_elements_is_no_step() -> None:
    content = written_as_text(
        "g (float[N,past,4] cache, float[N,3,4] x) => (y)"
        " { c = Identity(cache) e = Exp(c) y = Concat<axis = 1>(e, x) }"
    )
    blocks = [*blocks_of(extract(content, dims={"past": 0}), fused=False)]
    (step,) = program(content, blocks, dims={"past": 0}).steps
    assert (step.positions, step.layer.title()) == ((2,), "Concat")


def test_a_block_comes_before_those_that_read_any_of_its_results() -> None:
    """The first activation and one of the convolutions that read it are one block."""
    content = branching_model()
    blocks = [
        block for block in blocks_of(extract(content), fused=False) if block not in {(1,), (4,)}
    ]
    steps = program(content, [*blocks, (1, 4)]).steps
    assert [step.positions for step in steps[:5]] == [(0,), (1, 4), (2,), (3,), (5,)]


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ModelError):
        program(b"no model", [])
