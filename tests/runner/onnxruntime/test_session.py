"""Sessions of ONNX Runtime, called and timed."""

import numpy as np
import onnx.parser
import pytest

from benanza_runner.onnx_layers.layer_model import layer_model
from benanza_runner.onnxruntime.copies import replicated
from benanza_runner.onnxruntime.session import CPU, Session, empty_call_us
from benanza_schemas.layer import Layer, Tensor
from tests.runner.layers import conv, floats, gemm, relu, single


def session(layer: Layer, copies: int = 1) -> Session:
    model = layer_model(layer)
    return Session(replicated(model.proto, copies), model.constants, model.inputs, CPU, 1)


@pytest.mark.parametrize("layer", [relu(10), conv(3, 5), gemm(2, 3, 4)], ids=Layer.title)
def test_a_call_takes_time(layer: Layer) -> None:
    called = session(layer, 3)
    assert 0 < min(called.call().us for _ in range(5)) < 1e6


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8e4m3fn", "int8", "bool"])
def test_inputs_of_types_that_numpy_lacks(dtype: str) -> None:
    casts = single("Cast", 19, (Tensor(dtype, (4,)),), (floats(4),), saturate=1, to=1)
    assert session(casts, 2).call().us > 0


def test_a_layer_that_writes_another_shape_than_it_says_fails() -> None:
    layer = single("Gather", 13, (floats(4, 5), Tensor("int64", (7,))), (floats(8, 5),), axis=0)
    with pytest.raises(Exception, match=r"(?s)shape.*\{8,5\}|\{8,5\}.*shape"):
        session(layer).call()


@pytest.mark.parametrize("shape", ["[]", "[2,found]"])
def test_onnx_runtime_finds_memory_for_outputs_whose_size_the_model_does_not_say(
    shape: str,
) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 10, opset_import: ["" : 21]> g (float[2,3] x) => (int64{shape} y) {{
        y = NonZero(x) }}"""
    )
    Session(model, {}, {"x": np.ones((2, 3), np.float32)}, CPU, 1).call()


def test_weights_are_not_copied() -> None:
    model = layer_model(gemm(1, 4, 4))
    (weights, bias) = sorted(model.constants.values(), key=lambda array: -array.size)
    weights[:] = 0
    bias[:] = 7
    output = np.zeros((1, 4), np.float32)

    class Peeking(Session):
        def read(self) -> None:
            (value,) = self._outputs.values()
            output[:] = value.numpy()

    peeking = Peeking(replicated(model.proto, 2), model.constants, model.inputs, CPU, 1)
    peeking.call()
    peeking.read()
    np.testing.assert_array_equal(output, 7)


def test_what_onnx_runtime_refuses_is_raised() -> None:
    model = layer_model(single("Nonsense", 1, (floats(2),), (floats(2),), domain="mine"))
    with pytest.raises(Exception, match="Nonsense"):
        Session(model.proto, {}, model.inputs, CPU, 1)


def test_an_empty_call_takes_microseconds() -> None:
    assert 0.1 < empty_call_us(CPU, 1) < 500
