"""A compiled model with its inputs, and how long its nodes took."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import openvino as ov

from benanza.openvino.calls import ExecutedNode
from benanza.profiling.framework import Configuration
from benanza.profiling.whole_model import Arrays
from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.openvino.graph import BY_BITS, tensor
from benanza_schemas.layer import Precision

PRECISION_HINT = "INFERENCE_PRECISION_HINT"
PRECISIONS = {"fp32": ov.Type.f32, "fp16": ov.Type.f16, "bf16": ov.Type.bf16}

NOT_CALLS = frozenset(("Const", "Input", "Output"))
"""Types of nodes of the execution graph that hold values."""


def properties(
    configuration: Configuration, precision: Precision, threads: int
) -> dict[str, object]:
    """What a model is compiled with. The precision is set: by itself OpenVINO runs models of
    float32 in bfloat16 where the CPU has that.
    """
    return {
        **configuration.options,
        "INFERENCE_NUM_THREADS": threads,
        PRECISION_HINT: PRECISIONS[precision],
    }


class Counts(NamedTuple):
    """How long each node of the execution graph took in so many executions together, in
    microseconds; a node that doesn't run took no time.
    """

    executions: int
    total_us: tuple[float, ...]


class Compiled:
    """A model that OpenVINO compiled for the CPU, with one request, whose inputs are set. Raises
    what OpenVINO does, and `RuntimeError` where the CPU has no kernels for the precision.
    """

    def __init__(
        self, core: ov.Core, model: ov.Model, inputs: Arrays, set_there: Mapping[str, object]
    ) -> None:
        self._model = core.compile_model(model, "CPU", dict(set_there))
        wanted, found = set_there[PRECISION_HINT], self._model.get_property(PRECISION_HINT)
        if found != wanted:
            raise RuntimeError(f"this CPU runs it in {found.to_string()}, not {wanted}")
        self.request = self._model.create_infer_request()
        self._inputs = inputs  # Those of types that NumPy lacks are read where they are.
        self._ports: dict[str, Any] = {}
        for port in self._model.inputs:
            name = next(name for name in port.get_names() if name in inputs)
            lacks = inputs[name].dtype.name in BY_BITS
            given = tensor(inputs[name]) if lacks else ov.Tensor(inputs[name].copy())
            self.request.set_tensor(port, given)
            self._ports[name] = port
        self._executions = 0

    def run(self) -> None:
        """Runs the model once, to the end. Its results stay in OpenVINO's memory."""
        self.request.infer(share_outputs=True)
        self._executions += 1

    def results(self, inputs: Arrays) -> list[Array]:
        """Runs the model for these inputs, which are read where they are; copies of its results."""
        held = {name: np.asarray(inputs[name], order="C") for name in self._ports}
        for name, port in self._ports.items():
            array = held[name]
            lacks = array.dtype.name in BY_BITS
            given = tensor(array) if lacks else ov.Tensor(array, shared_memory=True)
            self.request.set_tensor(port, given)
        self._inputs = held  # OpenVINO has no reference to them.
        self.request.infer(share_outputs=True)
        outputs = self.request.output_tensors
        return [output.data.copy() for output in outputs]

    def nodes(self) -> list[ExecutedNode]:
        """The nodes of the execution graph that may take time, in the order in which they run;
        `PERF_COUNT` has to be set, and the model to have run.
        """
        counted = {node.node_name: node for node in self.request.get_profiling_info()}
        ordered = []
        for operation in self._model.get_runtime_model().get_ordered_ops():
            about = {key: value.astype(str) for key, value in operation.get_rt_info().items()}
            name = operation.get_friendly_name()
            if about["layerType"] in NOT_CALLS or name not in counted:
                continue
            node = ExecutedNode(
                name=name,
                op=counted[name].node_type,
                originals=about["originalLayersNames"],
                reads=tuple(
                    value.get_node().get_friendly_name() for value in operation.input_values()
                ),
                runs=counted[name].status == counted[name].Status.EXECUTED,
            )
            ordered.append((int(about["execOrder"]), node))
        return [node for _, node in sorted(ordered)]

    def counts(self) -> Counts:
        """What was counted so far for `nodes`. OpenVINO says the average of all executions, cut off
        to whole microseconds.
        """
        average = {node.node_name: node.real_time for node in self.request.get_profiling_info()}
        return Counts(
            self._executions,
            tuple(
                average[node.name].total_seconds() * 1e6 * self._executions if node.runs else 0.0
                for node in self.nodes()
            ),
        )


def between(before: Counts, after: Counts) -> list[float]:
    """How long each node took on average in the executions between these, in microseconds."""
    executions = after.executions - before.executions
    return [
        max(0.0, later - earlier) / executions
        for earlier, later in zip(before.total_us, after.total_us, strict=True)
    ]
