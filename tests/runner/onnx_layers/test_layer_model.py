"""Layers as ONNX models."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper

from benanza_runner.onnx_layers.layer_model import LayerModelError, layer_model
from benanza_schemas.identity import canonical
from benanza_schemas.layer import OMITTED, Layer, Tensor, TensorValue
from tests.runner.cuda.layers.own import embedded
from tests.runner.layers import conv, conv_group, floats, operator, relu, single, weights


def test_one_operator_with_its_attributes() -> None:
    model = layer_model(conv(3, 5))
    (node,) = model.proto.graph.node
    assert node.op_type == "Conv"
    assert {a.name: list(a.ints) for a in node.attribute} == {
        "kernel_shape": [3, 3],
        "pads": [1, 1, 1, 1],
    }
    assert [i.name for i in model.proto.graph.input] == list(model.inputs)
    assert [i.name for i in model.proto.graph.initializer] == list(model.constants)


def test_weights_stay_out_of_the_file() -> None:
    huge = single("MatMul", 13, (floats(1, 1000), weights(1000, 3000)), (floats(1, 3000),))
    model = layer_model(huge)
    assert len(model.proto.SerializeToString()) < 1_000
    (array,) = model.constants.values()
    assert array.shape == (1000, 3000)
    assert array.dtype.name == "float32"
    assert array.all()


def test_values_that_are_known_are_kept() -> None:
    shape = np.array([2, 6], np.int64)
    known = Tensor("int64", (2,), constant=True, value=shape.tobytes())
    model = layer_model(single("Reshape", 13, (floats(3, 4), known), (floats(2, 6),)))
    (initializer,) = model.proto.graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(initializer), shape)
    assert not model.constants


def test_omitted_inputs_keep_their_places() -> None:
    tensors = (floats(4), Tensor("float32", (), constant=True), floats(4))
    node = operator("Clip", 13, (0, OMITTED, 1), (2,))
    model = layer_model(canonical(Layer(tensors, (node,), (2,))))
    assert list(model.proto.graph.node[0].input)[1] == ""


def test_outputs_are_what_nobody_in_the_layer_reads() -> None:
    group = layer_model(conv_group(2, 4, "BatchNormalization", "Relu"))
    assert len(group.proto.graph.output) == 1
    indices = Tensor("int64", (1, 1, 2, 2))
    tensors = (floats(1, 1, 4, 4), floats(1, 1, 2, 2), indices)
    pool = operator("MaxPool", 12, (0,), (1, 2), kernel_shape=(2, 2), strides=(2, 2))
    unread = layer_model(canonical(Layer(tensors, (pool,), (1,))))
    assert len(unread.proto.graph.output) == 2


def test_the_model_is_valid_and_its_shapes_are_what_the_layer_says() -> None:
    proto = layer_model(conv_group(4, 6, "BatchNormalization", "Add", "Relu")).proto
    bare = onnx.ModelProto()
    bare.CopyFrom(proto)
    for tensor in bare.graph.initializer:
        dims = list(tensor.dims)
        tensor.CopyFrom(numpy_helper.from_array(np.ones(dims, np.float32), tensor.name))
    onnx.checker.check_model(bare, full_check=True)


def test_attributes_of_every_kind() -> None:
    fill = TensorValue("float32", (1,), np.array([0.5], np.float32).tobytes())
    layer = single(
        "Constant_like",
        1,
        (floats(1),),
        (floats(1),),
        domain="mine",
        integer=3,
        number=0.5,
        text="NOTSET",
        integers=(1, 2),
        numbers=(0.5, 1.5),
        texts=("a", "b"),
        tensor=fill,
    )
    found = {
        a.name: onnx.helper.get_attribute_value(a)
        for a in layer_model(layer).proto.graph.node[0].attribute
    }
    assert isinstance(found["tensor"], TensorProto)
    np.testing.assert_array_equal(numpy_helper.to_array(found.pop("tensor")), [0.5])
    assert found == {
        "integer": 3,
        "number": 0.5,
        "text": b"NOTSET",
        "integers": [1, 2],
        "numbers": [0.5, 1.5],
        "texts": [b"a", b"b"],
    }


def test_empty_lists_take_their_type_from_the_standard() -> None:
    empty = single("Squeeze", 11, (floats(4),), (floats(4),), axes=())
    (axes,) = layer_model(empty).proto.graph.node[0].attribute
    assert axes.type == onnx.AttributeProto.INTS


def test_elements_smaller_than_a_byte_are_packed_in_weights_only() -> None:
    scale = weights()
    packed = Tensor("int4", (3, 5), constant=True)
    model = layer_model(single("DequantizeLinear", 21, (packed, scale), (floats(3, 5),)))
    small = next(t for t in model.proto.graph.initializer if t.data_type == TensorProto.INT4)
    assert len(small.raw_data) == 8
    loose = Tensor("int4", (3, 5))
    with pytest.raises(LayerModelError, match="int4 which is no weight"):
        layer_model(single("DequantizeLinear", 21, (loose, scale), (floats(3, 5),)))


def test_an_embedding_has_a_place_for_the_mask_that_nobody_reads() -> None:
    (node,) = layer_model(embedded()).proto.graph.node
    assert [bool(name) for name in node.output] == [True, False]


@pytest.mark.parametrize(("left", "names"), [(-1, []), (4, ["left_window_size"])])
def test_defaults_that_an_older_onnx_runtime_does_not_know_are_left_out(
    left: int, names: list[str]
) -> None:
    heads = (floats(1, 2, 5, 8),)
    layer = single("Attention", 25, heads * 3, heads, left_window_size=left, right_window_size=-1)
    (node,) = layer_model(layer).proto.graph.node
    assert [attribute.name for attribute in node.attribute] == names


def test_sizes_from_which_shapes_follow_are_in_the_file() -> None:
    size, grid = Tensor("int64", (4,), constant=True), floats(2, 6, 7, 2)
    model = layer_model(single("AffineGrid", 20, (floats(2, 2, 3), size), (grid,)))
    session = onnxruntime.InferenceSession(model.proto.SerializeToString())
    (result,) = session.run(None, model.inputs)
    assert result.shape == grid.shape


def test_strings_are_refused() -> None:
    text = Tensor("string", (3,))
    with pytest.raises(LayerModelError, match="Identity reads string"):
        layer_model(single("Identity", 13, (text,), (text,)))


def test_the_same_layer_gives_the_same_model() -> None:
    first, second = layer_model(relu(64)), layer_model(relu(64))
    assert first.proto.SerializeToString() == second.proto.SerializeToString()
    (a,), (b,) = first.inputs.values(), second.inputs.values()
    np.testing.assert_array_equal(a, b)
