"""Traces in the form in which PyTorch's profiler writes those of a GPU, made up."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

GPU = "NVIDIA H200"

STEP_US = 1_000.0

_IDS_OF_STEP = 4


class KinetoFile:
    """Events of a trace: operators of the host, launches and what they start, at times that the
    test says, in microseconds.
    """

    def __init__(self, first: int = 0) -> None:
        """Ids begin after `first`."""
        self.events: list[dict[str, Any]] = []
        self._operators = first
        self._launched = first

    def operator(
        self,
        name: str,
        start_us: float,
        us: float,
        shapes: Sequence[Any] = (),
        types: Sequence[Any] = (),
        values: Sequence[str] = (),
    ) -> int:
        """An operator of the host; its id."""
        self._operators += 1
        arguments: dict[str, Any] = {"External id": self._operators, "Ev Idx": 0}
        if shapes:
            arguments |= {
                "Input Dims": list(shapes),
                "Input type": list(types),
                "Concrete Inputs": list(values) or [""] * len(shapes),
            }
        self._add("cpu_op", name, start_us, us, arguments)
        return self._operators

    def kernel(
        self,
        name: str,
        start_us: float,
        us: float,
        operator: int | None = None,
        launched_us: float | None = None,
        category: str = "kernel",
        device: int = 0,
    ) -> None:
        """What a GPU did, and its launch on the host, where there is one."""
        self._launched += 1
        arguments: dict[str, Any] = {"device": device, "correlation": self._launched}
        if operator is not None:
            arguments["External id"] = operator
        if launched_us is not None:
            launch = {"correlation": self._launched}
            self._add("cuda_runtime", "cudaLaunchKernel", launched_us, 5.0, launch)
        self._add(category, name, start_us, us, arguments)

    def write(self, path: Path) -> Path:
        """Writes the file, events in the order in which they were added."""
        document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": GPU}]}
        path.write_text(json.dumps(document | {"traceEvents": self.events}))
        return path

    def _add(
        self, category: str, name: str, start_us: float, us: float, arguments: dict[str, Any]
    ) -> None:
        event = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1}
        self.events.append(event | {"ts": start_us, "dur": us, "args": arguments})


def linear_step(trace: KinetoFile, start_us: float) -> None:
    """A linear layer in fp16 of three axes, as PyTorch runs it: 400 µs on the host, 80 on the GPU,
    and a copy to the host of 10.
    """
    types = ["c10::Half", "c10::Half", "c10::Half"]
    trace.operator("aten::linear", start_us, 400.0, [[2, 8, 64], [32, 64], [32]], types)
    trace.operator("aten::t", start_us + 10, 20.0, [[32, 64]], ["c10::Half"])
    shapes = [[32], [16, 64], [64, 32], [], []]
    product = trace.operator(
        "aten::addmm", start_us + 40, 300.0, shapes, [*types, "Scalar", "Scalar"]
    )
    trace.kernel("gemm", start_us + 200, 60.0, product, start_us + 100)
    trace.kernel("epilogue", start_us + 270, 20.0, product, start_us + 110)
    copying = trace.operator("aten::copy_", start_us + 500, 100.0)
    trace.kernel(
        "Memcpy DtoH (Device -> Pageable)",
        start_us + 600,
        10.0,
        copying,
        start_us + 550,
        "gpu_memcpy",
    )


def steps(count: int) -> KinetoFile:
    """So many steps of `linear_step`, one after the other."""
    trace = KinetoFile()
    for number in range(count):
        linear_step(trace, number * STEP_US)
    return trace


def written_steps(path: Path, count: int) -> Path:
    """As `steps`, in a file that needn't fit into memory."""

    def events() -> Iterator[str]:
        for number in range(count):
            trace = KinetoFile(_IDS_OF_STEP * number)
            linear_step(trace, number * STEP_US)
            yield from map(json.dumps, trace.events)

    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [')
        for number, event in enumerate(events()):
            file.write((",\n" if number else "") + event)
        file.write("]}")
    return path
