"""What PyTorch's profiler, Kineto, writes, and so vLLM and SGLang: operators, launches, kernels.

Operators have their inputs where the profiler was asked for them (`record_shapes=True`). A kernel
names the operator that started it by its "External id".
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benanza.tracing.formats.recorded import (
    ActivityKind,
    DeviceActivity,
    Event,
    HostOperator,
    Launch,
    TracedInputs,
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

_GREATEST_ID = 2**63 - 1

_STRIDED = "attention"
"""Is part of the names of operators whose strides count."""

_LAUNCHES = frozenset(("cuda_runtime", "cuda_driver"))
_ON_GPU: dict[str, ActivityKind] = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill"}


def kineto_events(events: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    """What counts of a trace's events. Stacks of Python and marks of steps don't."""
    read: dict[str, TracedInputs] = {}
    for event in events:
        category = str(event.get("cat", "")).lower()
        if event.get("ph") != "X":
            continue
        if category == "cpu_op":
            arguments, name = event.get("args", {}), str(event["name"])
            yield HostOperator(
                _number(arguments.get("External id")) or -1,
                f"{event.get('pid')} {event.get('tid')}",
                microseconds(event["ts"]),
                microseconds(event.get("dur", 0.0)),
                name,
                _inputs(name, arguments, read) if "Input Dims" in arguments else None,
            )
        elif category in _LAUNCHES:
            yield Launch(
                str(event.get("args", {}).get("correlation", "")),
                microseconds(event["ts"]),
                microseconds(event.get("dur", 0.0)),
                str(event["name"]),
            )
        elif category in _ON_GPU:
            arguments = event.get("args", {})
            kind = _ON_GPU[category]
            name = str(event["name"])
            yield DeviceActivity(
                kind_of_kernel(name) if kind == "kernel" else kind,
                name,
                str(arguments.get("device", event.get("pid"))),
                microseconds(event["ts"]),
                microseconds(event.get("dur", 0.0)),
                str(arguments.get("correlation", "")),
                _number(arguments.get("External id")),
            )


def _number(value: object) -> int | None:
    """An id, which is 0 where there is none."""
    return value if isinstance(value, int) and 0 < value <= _GREATEST_ID else None


def _inputs(name: str, arguments: Mapping[str, Any], read: dict[str, TracedInputs]) -> TracedInputs:
    """An operator's inputs. Those that were read before are the same object."""
    strides = arguments.get("Input Strides", []) if _STRIDED in name else []
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
