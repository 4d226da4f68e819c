"""Sessions of ONNX Runtime, whose calls are timed here."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper

from benanza_runner.arrays import Array
from benanza_runner.measuring.clock import clocked
from benanza_runner.measuring.sampling import Timing
from benanza_runner.onnx_layers.layer_model import IR_VERSION
from benanza_runner.onnxruntime.in_place import in_place


class Provider(NamedTuple):
    """An execution provider with its options, and the device on which inputs and outputs lie."""

    name: str
    device: str
    options: Mapping[str, str] = {}


CPU = Provider("CPUExecutionProvider", "cpu")


class Session:
    """A model, ready to be called: inputs and outputs are bound to memory on the device.

    All outputs of equal type and shape share one piece of memory, but for those that `in_place`
    says lie in an input's, and those of which the model doesn't say how large they are: ONNX
    Runtime allocates these in each call. If `optimised`, ONNX Runtime changes the model first, as
    it does by default. Raises whatever ONNX Runtime raises when it refuses a model.
    """

    def __init__(
        self,
        model: ModelProto,
        constants: Mapping[str, Array],
        inputs: Mapping[str, Array],
        provider: Provider,
        threads: int,
        *,
        optimised: bool = False,
    ) -> None:
        options = session_options(constants, provider, threads)
        if optimised:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        self._session = ort.InferenceSession(
            model.SerializeToString(), options, providers=[(provider.name, dict(provider.options))]
        )
        self._binding = self._session.io_binding()
        self._inputs = {name: _on_device(array, provider) for name, array in inputs.items()}
        for name, value in self._inputs.items():
            self._binding.bind_ortvalue_input(name, value)
        shared: dict[tuple[int, tuple[int, ...]], Any] = {}
        inside = in_place(model.graph)
        for output in model.graph.output:
            if output.name in inside:
                value = self._inputs[inside[output.name]]
                self._binding.bind_ortvalue_output(output.name, value)
                continue
            kind = output.type.tensor_type
            if not _has_size(kind):
                self._binding.bind_output(output.name, provider.device)
                continue
            key = kind.elem_type, tuple(dim.dim_value for dim in kind.shape.dim)
            if key not in shared:
                shared[key] = ort.OrtValue.ortvalue_from_shape_and_type(
                    key[1], key[0], provider.device
                )
            self._binding.bind_ortvalue_output(output.name, shared[key])
        self._outputs = shared

    def call(self) -> Timing:
        """Runs the model once, to its end."""
        return clocked(lambda: self._session.run_with_iobinding(self._binding))


def _has_size(kind: onnx.TypeProto.Tensor) -> bool:
    return kind.HasField("shape") and all(dim.HasField("dim_value") for dim in kind.shape.dim)


def session_options(
    constants: Mapping[str, Array], provider: Provider, threads: int
) -> ort.SessionOptions:
    """Options for a session that runs the model as it stands, on this device alone."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if provider.device != "cpu":
        # A layer must run where it is said to run, or not at all.
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    if constants:
        values = [on_cpu(array) for array in constants.values()]
        options.add_external_initializers(list(constants), values)
    return options


def on_cpu(array: Array) -> Any:
    """An array as ONNX Runtime takes it, on the same memory."""
    if array.dtype.isbuiltin == 1:
        return ort.OrtValue.ortvalue_from_numpy(array)
    onnx_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, onnx_type)


def _on_device(array: Array, provider: Provider) -> Any:
    """An array in memory of the device."""
    if provider.device == "cpu":
        return on_cpu(array)
    if array.dtype.isbuiltin == 1:
        return ort.OrtValue.ortvalue_from_numpy(array, provider.device)
    # Types that NumPy lacks are taken there by a model: a binding copies its input as needed.
    onnx_type = helper.np_dtype_to_tensor_dtype(array.dtype)
    there = ort.OrtValue.ortvalue_from_shape_and_type(array.shape, onnx_type, provider.device)
    model = _identity(onnx_type, array.shape)
    options = session_options({}, provider, threads=1)
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=[(provider.name, dict(provider.options))]
    )
    binding = session.io_binding()
    binding.bind_ortvalue_input("from", on_cpu(array))
    binding.bind_ortvalue_output("to", there)
    session.run_with_iobinding(binding)
    return there


def _identity(onnx_type: int, shape: Sequence[int]) -> ModelProto:
    infos = [helper.make_tensor_value_info(name, onnx_type, shape) for name in ("from", "to")]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["from"], ["to"])], "identity", infos[:1], infos[1:]
    )
    opset = helper.make_opsetid("", 13)
    model: ModelProto = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
    return model


def empty_call_us(provider: Provider, threads: int, calls: int = 200) -> float:
    """How long a call with nothing to do takes, in microseconds: the median of `calls`."""
    return empty_calls(provider, threads, calls)()


def empty_calls(provider: Provider, threads: int, calls: int) -> Callable[[], float]:
    """A function that returns how long a call with nothing to do takes now, in microseconds: the
    median of `calls`.
    """
    model = _identity(TensorProto.FLOAT, [1])
    session = Session(model, {}, {"from": np.ones(1, np.float32)}, provider, threads)
    return lambda: median(session.call().us for _ in range(calls))
