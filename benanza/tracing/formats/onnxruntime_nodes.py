"""What ONNX Runtime's own profiler writes: its nodes, as the host ran them.

Of nodes on a GPU that is their launch alone, so their shapes are left out and they have no bound.
Source: https://onnxruntime.ai/docs/performance/tune-performance/profiling-tools.html.
"""

import itertools
from collections.abc import Mapping
from typing import Any

from benanza.tracing.formats.recorded import HostOperator, TracedInputs, microseconds
from benanza_runner.onnxruntime.session import CPU

DTYPES = {"float": "float32", "double": "float64"}
"""ONNX's names of the element types that ONNX Runtime names otherwise."""

LAUNCH = TracedInputs(launch_alone=True)

_NODE = "_kernel_time"


class NodeReader:
    """Takes the events of a trace one by one."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def read(self, event: Mapping[str, Any]) -> HostOperator | None:
        """A node, named by its operator; `None` for what is none. Raises as Python does where it
        isn't as ONNX Runtime writes it.
        """
        arguments = event.get("args", {})
        if "op_name" not in arguments or not str(event.get("name", "")).endswith(_NODE):
            return None
        on_cpu = arguments.get("provider", CPU.name) == CPU.name
        return HostOperator(
            next(self._numbers),
            f"{event.get('pid')} {event.get('tid')}",
            microseconds(event["ts"]),
            microseconds(event.get("dur", 0.0)),
            str(arguments["op_name"]),
            _inputs(arguments) if on_cpu else LAUNCH,
        )


def _inputs(arguments: Mapping[str, Any]) -> TracedInputs:
    """Inputs without the weights that were packed before."""
    read = [
        (DTYPES.get(dtype, dtype), _shape(shape))
        for each in arguments.get("input_type_shape", ())
        for dtype, shape in each.items()
    ]
    written = [
        _shape(shape) for each in arguments.get("output_type_shape", ()) for shape in each.values()
    ]
    return TracedInputs(
        tuple(shape for _, shape in read), tuple(dtype for dtype, _ in read), (), tuple(written)
    )


def _shape(shape: list[Any]) -> tuple[int, ...]:
    return tuple(int(size) for size in shape)
