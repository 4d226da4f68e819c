"""Samples of operators and kernels, and what becomes of each: in ONNX Runtime, and in ingest."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from benanza.tracing.formats.recorded import TracedInputs
from benanza.tracing.trace_model import OPSET, trace_model
from benanza.tracing.translating.translate import translated
from benanza.tracing.translating.writing import Writer
from benanza_ingest.limits import Limits

Array = NDArray[Any]

INTO_FIRST = ("_C::rms_norm", "_C::silu_and_mul")
"""Operators that write to their first input."""


class Sample(NamedTuple):
    """An operator, its inputs as a trace has them, and what it computes of its tensors in order."""

    name: str
    shapes: tuple[Any, ...]
    values: tuple[str, ...]
    ops: str
    computes: Callable[..., Array]
    dtypes: tuple[str | tuple[str, ...], ...] = ()


def softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))


def normalised(x: Array, scale: Array, shift: Array) -> Array:
    deviation = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return np.asarray((x - x.mean(-1, keepdims=True)) / deviation * scale + shift)


def in_channels(x: Array, *parts: Array) -> Array:
    scale, shift, mean, variance = (part[:, None, None] for part in parts)
    return np.asarray((x - mean) / np.sqrt(variance + 1e-5) * scale + shift)


def root_mean_square(_: object, x: Array, scale: Array) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale)


def inputs_of(sample: Sample) -> TracedInputs:
    """A shape without axes is no tensor, here."""
    dtypes = sample.dtypes or tuple("float16" if shape else "" for shape in sample.shapes)
    return TracedInputs(sample.shapes, dtypes, sample.values)


def filled(tensor: TensorProto, random: np.random.Generator) -> TensorProto:
    if tensor.data_location != TensorProto.EXTERNAL:
        return tensor
    values = random.uniform(0.1, 1.0, tuple(tensor.dims)).astype(np.float32)
    return numpy_helper.from_array(values, tensor.name)


def computes_as_said(sample: Sample) -> None:
    """The nodes of a sample give what it says of random tensors, in ONNX Runtime."""
    random = np.random.default_rng(0)
    written = translated(sample.name, inputs_of(sample), "o0_")
    assert isinstance(written, Writer)
    weights = [filled(weight, random) for weight in written.weights]
    outputs = [helper.make_empty_tensor_value_info(name) for name in written.results]
    graph = helper.make_graph(written.nodes, "part", written.read, outputs, weights)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    given: dict[str, Array] = {}
    for value in written.read:
        sizes = [axis.dim_value for axis in value.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        given[value.name] = random.uniform(0.1, 2.0, sizes).astype(dtype)
    found = session.run(None, given)[-1]
    tensors = {name: given[name] for name in given} | {
        weight.name: numpy_helper.to_array(weight) for weight in weights
    }
    if isinstance(inputs_of(sample).dtypes[0], tuple):
        np.testing.assert_array_equal(found, sample.computes(*given.values()))
        return
    expected = sample.computes(*_in_order(sample, written, tensors))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def is_taken(sample: Sample) -> None:
    """Ingest makes these layers of a sample."""
    (part,) = trace_model([(sample.name, inputs_of(sample))], Limits()).parts
    assert part.reason == ""
    assert "+".join(layer.op for layer in part.layers) == sample.ops
    assert part.precision == "fp16"


def _in_order(sample: Sample, written: Writer, tensors: dict[str, Array]) -> list[Array]:
    """The tensors in the framework's order: weights in that in which they are written."""
    weights = iter([weight.name for weight in written.weights if _is_made_up(weight)])
    places = range(len(sample.shapes))
    dtypes = inputs_of(sample).dtypes
    names = [
        name if (name := f"o0_x{place}") in tensors else None for place in places if dtypes[place]
    ]
    # What is written to is no input of the nodes.
    results = 1 if sample.name in INTO_FIRST else 0
    in_order = [name or next(weights, "") for name in names[results:]]
    return [np.empty(0)] * results + [tensors[name] for name in in_order if name]


def _is_made_up(weight: TensorProto) -> bool:
    return bool(weight.data_location == TensorProto.EXTERNAL)
