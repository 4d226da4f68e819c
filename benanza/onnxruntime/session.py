"""A session of a whole model, with what a configuration sets, and how it is called."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorProto

from benanza.onnxruntime.half import half
from benanza.onnxruntime.options import BOUND, LEVEL, provider_options
from benanza.profiling.framework import Configuration, Session
from benanza.profiling.whole_model import Arrays, WholeModel
from benanza_runner.arrays import Array
from benanza_runner.cpu import processors_of_cores
from benanza_runner.onnxruntime.session import CPU, session_options
from benanza_schemas.layer import Precision

CUDA = "CUDAExecutionProvider"


class Called(NamedTuple):
    """A session, and what runs its model once, to the end."""

    session: ort.InferenceSession
    run: Callable[[], Any]


def options_of(model: WholeModel, configuration: Configuration, threads: int) -> ort.SessionOptions:
    """The session's options with the model's weights, as they are in `in_type`."""
    options = session_options(model.weights, CPU, threads)
    level = getattr(ort.GraphOptimizationLevel, configuration.options[LEVEL])
    options.graph_optimization_level = level
    return options


def taking_turns(options: ort.SessionOptions) -> ort.SessionOptions:
    """The options of a session whose threads sleep between its runs, all but the caller's on a
    core of its own.

    By default they wait for the next run in a loop for some milliseconds. Where sessions take
    turns, as those of several batch sizes do, they take processors from the one that runs. Threads
    that sleep without a core of their own may wake on that of the caller: on two cores squeezenet
    takes 10 ms instead of 3 after a pause of 15 ms. ONNX Runtime gives them one where nobody says
    how many there are. Where a quota allows fewer threads than cores, they stay free: others on
    the host would choose the same cores.
    """
    options.add_session_config_entry("session.force_spinning_stop", "1")
    processors = processors_of_cores()
    if len(processors) == options.intra_op_num_threads > 1:
        others = processors[1:]
        affinities = ";".join(str(processor + 1) for processor in others)  # it counts from 1
        options.add_session_config_entry("session.intra_op_thread_affinities", affinities)
    return options


def called(
    model: WholeModel,
    configuration: Configuration,
    precision: Precision,
    options: ort.SessionOptions,
    *,
    on_gpu: bool,
) -> Called:
    """A session on the CPU or on the GPU. Raises what ONNX Runtime does.

    Without a binding, inputs and outputs are arrays of the host, as `session.run` takes them.
    """
    providers: list[Any] = [CPU.name]
    if on_gpu:
        tf32 = {"use_tf32": str(int(precision == "tf32"))}
        providers = [(CUDA, tf32 | provider_options(configuration.options)), CPU.name]
    proto = model.proto
    session = ort.InferenceSession(proto.SerializeToString(), options, providers=providers)
    if on_gpu and CUDA not in session.get_providers():
        raise RuntimeError(f"{CUDA} can't be loaded here")
    if BOUND.items() <= configuration.options.items():
        binding = _binding(session, proto, model.inputs)
        return Called(session, lambda: session.run_with_iobinding(binding))
    return Called(session, lambda: session.run(None, model.inputs))


def run_on_host(session: ort.InferenceSession, typed: WholeModel) -> Session:
    """What runs a session whose inputs and outputs are in the memory of the host."""
    types = {name: array.dtype for name, array in typed.inputs.items()}

    def run(inputs: Arrays) -> list[Array]:
        given = {name: inputs[name].astype(dtype, copy=False) for name, dtype in types.items()}
        outputs: list[Array] = session.run(None, given)
        return outputs

    return run


def in_type(model: WholeModel, precision: Precision) -> WholeModel:
    """The model with float16 in place of float32, if the precision is fp16."""
    if precision != "fp16":
        return model
    proto = half(model.proto)
    kinds = {tensor.name: tensor.data_type for tensor in proto.graph.initializer}
    kinds |= {value.name: value.type.tensor_type.elem_type for value in proto.graph.input}
    weights, inputs = (
        {name: _half(array, kinds[name]) for name, array in arrays.items()}
        for arrays in (model.weights, model.inputs)
    )
    return model._replace(proto=proto, weights=weights, inputs=inputs)


def _half(array: Any, kind: int) -> Any:
    return array.astype(np.float16) if kind == TensorProto.FLOAT16 else array


def _binding(session: ort.InferenceSession, proto: ModelProto, inputs: Arrays) -> Any:
    """Inputs and outputs in memory of the GPU, at addresses that stay if their shapes are known."""
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array, "cuda"))
    for output in proto.graph.output:
        kind = output.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        if not kind.HasField("shape") or 0 in shape:  # it depends on data
            binding.bind_output(output.name, "cuda")
            continue
        there = ort.OrtValue.ortvalue_from_shape_and_type(shape, kind.elem_type, "cuda")
        binding.bind_ortvalue_output(output.name, there)
    return binding
