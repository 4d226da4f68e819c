"""A model of the zoo as one session of ONNX Runtime, with its inputs and expected outputs."""

import time
from collections.abc import Mapping
from math import prod, sqrt
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, numpy_helper

from benanza.onnxruntime.half import half
from benanza.profiling.whole_model import Arrays, whole_model
from benanza_ingest.reading.zoo import zoo_path
from benanza_runner.arrays import Array
from benanza_runner.measuring.sampling import Timing
from benanza_runner.onnx_layers.layer_model import IR_VERSION
from benanza_runner.onnxruntime.session import CPU, Provider
from benanza_schemas.layer import Precision

SUMMING = ("Conv", "Gemm", "MatMul")


class WholeSession:
    """A model that is called with its inputs and outputs on the device.

    Raises whatever ONNX Runtime raises, and `RuntimeError` where it would go without the
    provider.
    """

    def __init__(self, model: ModelProto, inputs: Arrays, provider: Provider) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        self._provider = provider
        self._session = ort.InferenceSession(
            model.SerializeToString(),
            options,
            providers=[(provider.name, dict(provider.options))],
            enable_fallback=0,
        )
        if provider.name not in self._session.get_providers():
            raise RuntimeError(f"{provider.name} can't be loaded here")
        self._binding = self._session.io_binding()
        self._bound = []
        for name, array in inputs.items():
            value = ort.OrtValue.ortvalue_from_numpy(array, provider.device)
            self._binding.bind_ortvalue_input(name, value)
            self._bound.append(value)
        self._outputs = [self._output(value_info) for value_info in model.graph.output]

    def _output(self, output: Any) -> Any:
        kind = output.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        value = ort.OrtValue.ortvalue_from_shape_and_type(
            shape, kind.elem_type, self._provider.device
        )
        self._binding.bind_ortvalue_output(output.name, value)
        return value

    def call(self) -> Timing:
        """Runs the model once, to its end."""
        started = time.perf_counter_ns()
        self._session.run_with_iobinding(self._binding)
        return Timing((time.perf_counter_ns() - started) / 1_000, disturbed=False)

    def output(self) -> Array:
        """What the last call wrote into the first output."""
        array: Array = self._outputs[0].numpy()
        return array

    def left_to_others(self) -> tuple[str, ...]:
        """The operators that other providers run, each once."""
        return tuple(
            dict.fromkeys(
                node.op_type
                for part in self._session.get_provider_graph_assignment_info()
                if part.ep_name != self._provider.name
                for node in part.get_nodes()
            )
        )


class ModelForOrt:
    """A model with its weights, its inputs, and its expected first output."""

    def __init__(self, name: str, batch: int) -> None:
        model = whole_model(zoo_path(name).read_bytes(), batch)
        self._inputs = model.inputs
        self._model = with_weights(model.proto, tamed(model.proto, model.weights))
        session = WholeSession(self._model, self._inputs, CPU)
        session.call()
        self.expected = session.output()

    def at(self, precision: Precision) -> tuple[ModelProto, Arrays]:
        """The model and its inputs in the type of the precision."""
        if precision != "fp16":
            return self._model, self._inputs
        halves = {
            name: array.astype(np.float16) if array.dtype == np.float32 else array
            for name, array in self._inputs.items()
        }
        return half(self._model), halves


def tamed(proto: ModelProto, weights: Mapping[str, Array]) -> Arrays:
    """Weights with which a model's values neither overflow float16 nor vanish.

    Weights of products are scaled as He et al. (ICCV 2015) initialise them for training.
    """
    made = dict(weights)
    for node in proto.graph.node:
        name = node.input[1] if len(node.input) > 1 else ""
        if node.op_type not in SUMMING or name not in weights or made[name] is not weights[name]:
            continue
        array = weights[name]
        transposed = any(a.name == "transB" and a.i for a in node.attribute)
        outputs = array.shape[0 if node.op_type == "Conv" or transposed else -1]
        size = sqrt(2 * outputs / prod(array.shape))
        made[name] = array * np.float32(size / float(np.sqrt(np.mean(np.square(array)))))
    return made


def with_weights(proto: ModelProto, weights: Mapping[str, Array]) -> ModelProto:
    """The model with these elements in its initializers, as a file would have them."""
    made = ModelProto()
    made.CopyFrom(proto)
    made.ir_version = IR_VERSION
    for tensor in made.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    return made
