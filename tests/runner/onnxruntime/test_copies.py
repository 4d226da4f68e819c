"""Models of many copies of a layer."""

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.onnx_layers.layer_model import LayerModel, layer_model
from benanza_runner.onnxruntime.copies import (
    CALL_US,
    MAX_CONSTANT_BYTES,
    MAX_COPIES,
    copies_for,
    replicated,
)
from benanza_runner.onnxruntime.graph import as_run
from benanza_runner.onnxruntime.session import CPU
from tests.runner.layers import conv_group, floats, relu, single


@pytest.mark.parametrize(
    ("layer_us", "constant_bytes", "copies"),
    [
        (2_000.0, 0, 1),
        (300.0, 0, 1),
        (120.0, 0, 3),
        (0.5, 0, MAX_COPIES),
        (0.0, 0, MAX_COPIES),
        (-3.0, 0, MAX_COPIES),
        (50.0, MAX_CONSTANT_BYTES // 4, 4),
        (50.0, 10 * MAX_CONSTANT_BYTES, 1),
    ],
)
def test_how_many(layer_us: float, constant_bytes: int, copies: int) -> None:
    assert copies_for(layer_us, constant_bytes) == copies


@pytest.mark.parametrize(("integer_bytes", "copies"), [(0, 10), (1_000_000, 8), (8_400_000, 1)])
def test_copies_of_weights_that_are_integers_stay_in_a_cache(
    integer_bytes: int, copies: int
) -> None:
    assert copies_for(30.0, integer_bytes, integer_bytes) == copies


@given(st.floats(0.01, 1e6))
def test_a_call_lasts_long_enough_and_not_much_longer(layer_us: float) -> None:
    copies = copies_for(layer_us, 0)
    assert 1 <= copies <= MAX_COPIES
    if 1 < copies < MAX_COPIES:
        assert CALL_US <= copies * layer_us < CALL_US + layer_us


def outputs(model: LayerModel, copies: int) -> dict[str, np.ndarray]:
    """Runs so many copies on the inputs, with the weights as initializers of the model."""
    proto = replicated(model.proto, copies)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    constants = {n: ort.OrtValue.ortvalue_from_numpy(a) for n, a in model.constants.items()}
    if constants:
        options.add_external_initializers(list(constants), list(constants.values()))
    session = ort.InferenceSession(proto.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, model.inputs), strict=True))


def test_each_copy_computes_what_the_layer_does() -> None:
    model = layer_model(conv_group(4, 6, "BatchNormalization", "Add", "Relu"))
    (alone,) = outputs(model, 1).values()
    three = outputs(model, 3)
    assert sorted(three) == [f"{model.proto.graph.output[0].name}/{copy}" for copy in range(3)]
    for copy in three.values():
        np.testing.assert_array_equal(copy, alone)
    assert np.isfinite(alone).all()
    assert alone.any()


def test_copies_of_an_operator_with_several_outputs() -> None:
    halves = (floats(2, 3), floats(2, 3))
    model = layer_model(single("Split", 2, (floats(4, 3),), halves, axis=0, split=(2, 2)))
    assert len(outputs(model, 2)) == 4


def test_inputs_and_the_model_itself_are_left_alone() -> None:
    model = layer_model(relu(8))
    before = model.proto.SerializeToString()
    many = replicated(model.proto, 5)
    assert model.proto.SerializeToString() == before
    assert len(many.graph.input) == 1
    assert len(many.graph.node) == 5


def test_a_convolution_adds_the_result_of_the_copy_before(tmp_path: Path) -> None:
    """As a graph's input, what it adds would be copied each time."""
    layer = layer_model(conv_group(9, 6, "BatchNormalization", "Add", "Relu"))
    model = as_run(layer, tmp_path, CPU, optimised=True)
    many = replicated(model.proto, 3)
    first, second, third = many.graph.node
    assert first.op_type == "FusedConv"
    assert first.input[3] in {info.name for info in many.graph.input}
    assert [second.input[3], third.input[3]] == [first.output[0], second.output[0]]
    assert [output.name for output in many.graph.output] == [third.output[0]]
    (thrice,) = outputs(model, 3).values()
    for _ in range(3):
        (found,) = outputs(model, 1).values()
        model.inputs[first.input[3]] = found
    np.testing.assert_allclose(thrice, found, rtol=1e-5)
