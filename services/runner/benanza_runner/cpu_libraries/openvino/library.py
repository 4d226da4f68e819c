"""OpenVINO's CPU plugin, which reads the same model of one layer as ONNX Runtime."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from math import prod

import numpy as np
import openvino as ov
from onnx import TensorProto, helper

from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.cpu_library import Calls, CpuCandidate, CpuWork
from benanza_runner.cpu_libraries.openvino.graph import array_of, executed, read, tensor
from benanza_runner.cpu_libraries.openvino.messages import said
from benanza_runner.cpu_libraries.openvino.wide_integers import why_too_wide
from benanza_runner.cuda.candidate import refused
from benanza_runner.measuring.clock import clocked
from benanza_runner.measuring.sampling import Timing
from benanza_runner.onnx_layers.layer_model import IR_VERSION, LayerModel
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.events import MAX_NAME_LENGTH, Variant
from benanza_schemas.layer import Layer, Precision

DEVICE = "CPU"

PRECISION_HINTS = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
"""What OpenVINO calls the type that it computes in. By itself it takes bfloat16 for float32 on
processors with AMX.
"""

PRECISION_HINT = "INFERENCE_PRECISION_HINT"

MOST_COPIES = 32
"""It compiles some 3 ms for each copy of a small layer."""

MOST_RESULT_BYTES = 1_000_000
"""The most that the results of all copies may take, which are next to each other: more leaves the
first caches. If several results are bound to the same memory, OpenVINO gets other memory anew at
each call, which takes longer than the copies do.
"""

EMPTY_CALLS = 200


class OpenVino:
    """OpenVINO on the CPU, with one stream, set for the least latency.

    It gets feature maps as ONNX has them, and converts within as it wants. A group counts where it
    becomes one operator of the graph that OpenVINO runs; a layer of one operator may become
    several, all of which are timed.
    """

    library = "openvino"

    def __init__(self) -> None:
        self.version = ov.get_version().partition("-")[0]
        self._core = ov.Core()
        self._empty_call_us = cache(self._timed_empty_call_us)

    def candidates(self, work: CpuWork) -> Iterator[CpuCandidate | Variant]:
        """One way, as OpenVINO compiles it."""
        title, layout = work.layer.title(), work.as_onnx.layout
        if reason := why_too_wide(work.layer):
            yield refused(self.library, title, layout, reason)
            return
        try:
            compiled = self._compiled(work.model, 1, work.precision, work.threads)
            ran = executed(compiled)
        except Exception as error:  # noqa: BLE001  # its errors are RuntimeErrors of many kinds
            yield refused(self.library, title, layout, said(error))
            return
        if reason := _other_type(compiled, work.precision) or _not_as_asked(work.layer, ran):
            yield refused(self.library, title, layout, reason)
            return
        results = sum(prod(output.shape) * output.element_type.size for output in compiled.outputs)
        yield CpuCandidate(
            self.library,
            "+".join(ran)[:MAX_NAME_LENGTH],
            work.as_onnx,
            partial(self._open, work, compiled),
            max(1, min(MOST_COPIES, MOST_RESULT_BYTES // max(results, 1))),
        )

    def empty_call_us(self, threads: int) -> float:
        """The least of many calls of a model whose one operator takes no time."""
        return self._empty_call_us(threads)

    @contextmanager
    def _open(self, work: CpuWork, first: ov.CompiledModel, copies: int) -> Iterator[Calls]:
        """`first` is a model compiled of one copy."""
        compiled = first
        if copies > 1:
            compiled = self._compiled(work.model, copies, work.precision, work.threads)
        yield OpenVinoCalls(compiled, work.model)

    def _compiled(
        self, model: LayerModel, copies: int, precision: Precision, threads: int
    ) -> ov.CompiledModel:
        return self._core.compile_model(
            read(self._core, model, copies),
            DEVICE,
            {
                "PERFORMANCE_HINT": "LATENCY",
                "NUM_STREAMS": 1,
                "INFERENCE_NUM_THREADS": threads,
                PRECISION_HINT: PRECISION_HINTS[PRECISIONS[precision].element_type],
                # It would leave this thread, and those that other libraries start from it, on one
                # processor.
                "ENABLE_CPU_PINNING": False,
                # Weights of few bits are multiplied by activations as they are, not rounded to
                # integers.
                "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,
            },
        )

    def _timed_empty_call_us(self, threads: int) -> float:
        number = {"x": np.ones(1, np.float32)}
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
        graph = helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"])], "empty", infos[:1], infos[1:]
        )
        opset = helper.make_opsetid("", 14)
        proto = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION)
        model = LayerModel(proto, {}, number)
        calls = OpenVinoCalls(self._compiled(model, 1, "fp32", threads), model)
        return min(calls.call().us for _ in range(EMPTY_CALLS))


class OpenVinoCalls:
    """A compiled model of copies of a layer, whose inputs are bound."""

    def __init__(self, compiled: ov.CompiledModel, model: LayerModel) -> None:
        self._request = compiled.create_infer_request()
        self._outputs = [output.name for output in model.proto.graph.output]
        self._inputs = {name: tensor(array) for name, array in model.inputs.items()}
        for given in compiled.inputs:
            name, _, _ = given.any_name.rpartition("/")
            self._request.set_tensor(given, self._inputs[name])

    def call(self) -> Timing:
        """Runs all copies, to the end."""
        return clocked(self._request.infer)

    def results(self) -> Mapping[str, Array]:
        """Those of the first copy."""
        return {name: array_of(self._request.get_tensor(f"{name}/0")) for name in self._outputs}


def _other_type(compiled: ov.CompiledModel, precision: Precision) -> str:
    """Why it isn't computed in the type of the precision, if it isn't: a hint may be passed over.
    Integers are computed in a type of their own.
    """
    asked = PRECISIONS[precision].element_type
    computes = compiled.get_property(PRECISION_HINT).to_dtype().name
    return "" if computes == asked else f"OpenVINO computes in {computes} here, and not in {asked}"


def _not_as_asked(layer: Layer, ran: list[str]) -> str:
    """Why what OpenVINO would run is no measure of the layer, if it isn't."""
    if not ran:
        return "OpenVINO computes it beforehand: there is nothing left to run"
    if len(layer.operators) > 1 and len(ran) > 1:
        return f"OpenVINO runs it as {len(ran)} calls: {', '.join(ran)}"
    return ""
