"""What PyTorch's profiler, Kineto, writes, and so vLLM and SGLang: operators, launches, kernels.

Operators have their inputs where the profiler was asked for them (`record_shapes=True`). A kernel
names the operator that started it by its "External id".
"""

import json
from collections.abc import Mapping
from typing import Any

from benanza.tracing.formats.recorded import (
    ActivityKind,
    DeviceActivity,
    Event,
    HostOperator,
    Launch,
    TracedInputs,
    is_generated,
    kind_of_kernel,
    microseconds,
)

DTYPES = {
    "float": "float32",
    "double": "float64",
    "c10::Half": "float16",
    "c10::BFloat16": "bfloat16",
    "c10::Float8_e4m3fn": "float8e4m3fn",
    "c10::Float8_e5m2": "float8e5m2",
    "long int": "int64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "short int": "int16",
    "signed char": "int8",
    "unsigned char": "uint8",
    "bool": "bool",
}
"""ONNX's names of the element types that Kineto names as C++ does."""

_ID_BITS = 48
"""Of an id; those above are of the rank."""

_MOST_RANKS = 2**15
"""More have no place in an integer of SQLite, and aren't told apart by ids."""

_STRIDED = "attention"
"""Is part of the names of operators whose strides count, besides those of `torch.compile`."""

_LAUNCHES = frozenset(("cuda_runtime", "cuda_driver"))
_ON_GPU: dict[str, ActivityKind] = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill"}


class KinetoReader:
    """Takes the events of a trace one by one."""

    def __init__(self) -> None:
        self._inputs: dict[str, TracedInputs] = {}
        self._ranks: dict[str, int] = {}

    def read(self, event: Mapping[str, Any]) -> Event | None:
        """What counts of an event; `None` for others, such as stacks of Python and marks of steps.
        Raises as Python does where it isn't as Kineto writes it.
        """
        category = str(event.get("cat", "")).lower()
        if event.get("ph") != "X":
            return None
        if category == "cpu_op":
            return self._operator(event, event.get("args", {}), str(event["name"]))
        if category in _LAUNCHES:
            return Launch(
                self._correlation(event),
                microseconds(event["ts"]),
                microseconds(event.get("dur", 0.0)),
                str(event["name"]),
            )
        return self._activity(event, _ON_GPU[category]) if category in _ON_GPU else None

    def _operator(
        self, event: Mapping[str, Any], arguments: Mapping[str, Any], name: str
    ) -> HostOperator:
        return HostOperator(
            self._identity(event) or -1,
            f"{event.get('pid')} {event.get('tid')}",
            microseconds(event["ts"]),
            microseconds(event.get("dur", 0.0)),
            name,
            _inputs(name, arguments, self._inputs) if "Input Dims" in arguments else None,
        )

    def _activity(self, event: Mapping[str, Any], kind: ActivityKind) -> DeviceActivity:
        name, device = str(event["name"]), event.get("args", {}).get("device", event.get("pid"))
        return DeviceActivity(
            kind_of_kernel(name) if kind == "kernel" else kind,
            name,
            f"{_rank(event)} {device}".strip(),
            microseconds(event["ts"]),
            microseconds(event.get("dur", 0.0)),
            self._correlation(event),
            self._identity(event),
        )

    def _identity(self, event: Mapping[str, Any]) -> int | None:
        """An id, which is 0 where there is none. It is one of the event's rank."""
        value = event.get("args", {}).get("External id")
        if not isinstance(value, int) or not 0 < value < 2**_ID_BITS:
            return None
        rank = _rank(event)
        if rank not in self._ranks and len(self._ranks) == _MOST_RANKS:
            return None
        return self._ranks.setdefault(rank, len(self._ranks)) << _ID_BITS | value

    @staticmethod
    def _correlation(event: Mapping[str, Any]) -> str | None:
        value = event.get("args", {}).get("correlation")
        return None if value is None else f"{_rank(event)} {value}"


def _rank(event: Mapping[str, Any]) -> str:
    """What SGLang writes before the process, where it has merged the traces of ranks, as in
    "[TP01] 42"; ids and devices are those of a rank.
    """
    return str(event.get("pid")).rpartition(" ")[0]


def _inputs(name: str, arguments: Mapping[str, Any], read: dict[str, TracedInputs]) -> TracedInputs:
    """An operator's inputs. Those that were read before are the same object."""
    strides = arguments.get("Input Strides", []) if _STRIDED in name or is_generated(name) else []
    keys = ("Input Dims", "Input type", "Concrete Inputs")
    shapes, types, values = (arguments.get(key, []) for key in keys)
    text = json.dumps((shapes, types, values, strides))
    inputs = read.get(text)
    if inputs is None:
        inputs = read[text] = TracedInputs(
            tuple(map(_shape, shapes)),
            tuple(_dtypes(shape, type_) for shape, type_ in zip(shapes, types, strict=False)),
            tuple(map(str, values)),
            (),
            tuple(map(_shape, strides)),
        )
    return inputs


def _shape(shape: list[Any]) -> tuple[Any, ...]:
    return tuple(_shape(part) if isinstance(part, list) else int(part) for part in shape)


def _dtypes(shape: list[Any], type_: object) -> str | tuple[str, ...]:
    """The type of a tensor or of each of several; empty for what is none."""
    several = bool(shape) and isinstance(shape[0], list)
    if isinstance(type_, list):
        return tuple(DTYPES.get(str(each), str(each)) for each in type_)
    if several:
        return ("",) * len(shape)
    return DTYPES.get(str(type_), "")
