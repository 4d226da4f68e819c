"""What the formats of traces have in common: operators, and what they did on a device."""

import re
from typing import Any, Literal, NamedTuple

import msgspec

ActivityKind = Literal["kernel", "collective", "copy", "fill", "graph"]
"""What a GPU does: it computes, exchanges data with other GPUs, copies memory, fills it, or runs a
CUDA graph whose parts the trace lacks.
"""

COLLECTIVES = ("nccl", "rccl")
"""Begin the names of kernels of libraries for collectives, in lower case."""

GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch")
"""Begin the names of calls that start a graph of CUDA, or of HIP."""

_GENERATED = re.compile(r"triton_|(?:graph_\d+_)?cpp_fused_")

TO_HOST = ("Memcpy DtoH", "Memcpy Device -> Host")
"""Begin the names of copies that a host may wait for."""


class TracedInputs(msgspec.Struct, frozen=True, array_like=True):
    """What a trace says of an operator's inputs: for each its shape, ONNX's name of its element
    type, and the text of its value where that is a number or a list of them.

    An input that is several tensors has a tuple of shapes, and a tuple of types. What is no tensor,
    and what isn't known, has no type. `outputs` are shapes, where the trace has them; `strides` are
    in elements, and there for attention, whose layer they decide, and for kernels of
    `torch.compile`. Where a trace has `shapes_alone`, it is said elsewhere of which type all
    tensors are. Of what ran on a GPU a trace may have the `launch_alone`, and no inputs.
    """

    shapes: tuple[tuple[int, ...] | tuple[tuple[int, ...], ...], ...] = ()
    dtypes: tuple[str | tuple[str, ...], ...] = ()
    values: tuple[str, ...] = ()
    outputs: tuple[tuple[int, ...], ...] = ()
    strides: tuple[tuple[int, ...], ...] = ()
    shapes_alone: bool = False
    launch_alone: bool = False


class HostOperator(NamedTuple):
    """An operator of a framework, as the host ran it.

    `identity` is what activities name it by. Operators of one `thread` are nested by their times,
    which are in microseconds of the trace's clock.
    """

    identity: int
    thread: str
    start_us: float
    us: float
    name: str
    inputs: TracedInputs | None = None


class Launch(NamedTuple):
    """A call of a GPU's runtime or driver on the host. `correlation` is that of what it started,
    `None` if the trace doesn't say.
    """

    correlation: str | None
    start_us: float
    us: float
    name: str


class DeviceActivity(NamedTuple):
    """What a GPU did, and when. `correlation` is that of the call that started it, `operator` the
    identity of the operator that did; each `None` if the trace doesn't say. `in_graph` is whether
    the trace says that it was part of a CUDA graph.
    """

    kind: ActivityKind
    name: str
    device: str
    start_us: float
    us: float
    correlation: str | None
    operator: int | None
    in_graph: bool = False


Event = HostOperator | Launch | DeviceActivity


MOST_US = 2.0**53
"""Times beyond it, of 285 years, are no microseconds: floats have them 2 µs apart or more."""


def microseconds(value: Any) -> float:
    """A time in a trace. Raises `ValueError` or `TypeError` for what is none."""
    number = float(value)
    if not abs(number) <= MOST_US:
        raise ValueError(f"{number} is no time")
    return number


def kind_of_kernel(name: str) -> ActivityKind:
    """Whether a kernel is a collective."""
    return "collective" if name.lower().startswith(COLLECTIVES) else "kernel"


def is_generated(name: str) -> bool:
    """Whether it is a kernel that `torch.compile` wrote, for a GPU or for the CPU."""
    return _GENERATED.match(name) is not None
