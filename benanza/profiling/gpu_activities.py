"""What an NVIDIA GPU does while this process runs something, as CUPTI tells it.

It needs the extra `onnxruntime`, whose `cupti-python` must have the version of the CUPTI that this
process loads.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import cxxfilt
from cupti import cupti

from benanza.profiling.spans import Activity

KINDS = (
    cupti.ActivityKind.CONCURRENT_KERNEL,
    cupti.ActivityKind.MEMCPY,
    cupti.ActivityKind.MEMSET,
    cupti.ActivityKind.RUNTIME,
    cupti.ActivityKind.DRIVER,
)
LAUNCHES = (cupti.ActivityKind.RUNTIME, cupti.ActivityKind.DRIVER)

BUFFER_BYTES = 8 * 1024 * 1024

COPIES = {1: "Memcpy HtoD", 2: "Memcpy DtoH", 8: "Memcpy DtoD"}
"""The kinds of copies that models make (`CUpti_ActivityMemcpyKind`), as PyTorch's profiler names
them.
"""


class _Record(NamedTuple):
    kind: int
    name: str
    correlation: int
    start_ns: int
    end_ns: int


@contextmanager
def recorded() -> Iterator[list[Activity]]:
    """While this is open, what the GPU does is recorded; when it ends, the list is filled with
    that, in the order of the starts. What still runs at the end must be waited for before.

    Source: the activity API of https://docs.nvidia.com/cupti-python/.
    """
    records = _records()
    activities: list[Activity] = []
    records.clear()
    offset_ns = time.time_ns() - cupti.get_timestamp()
    enabled = []
    try:
        for kind in KINDS:
            cupti.activity_enable(kind)
            enabled.append(kind)
        yield activities
    finally:
        cupti.activity_flush_all(1)
        for kind in enabled:
            cupti.activity_disable(kind)
    activities += _activities(records, offset_ns)
    records.clear()


@cache
def _records() -> list[_Record]:
    """The records of this process. CUPTI hands them over in buffers, and the callbacks for these
    can be registered once.
    """
    records: list[_Record] = []

    def requested() -> tuple[int, int]:
        return BUFFER_BYTES, 0

    def completed(activities: Iterable[Any]) -> None:
        # What they refer to is gone when this returns.
        records.extend(map(_record, activities))

    cupti.activity_register_callbacks(requested, completed)
    return records


def _record(activity: Any) -> _Record:
    name = ""
    if activity.kind == cupti.ActivityKind.CONCURRENT_KERNEL:
        name = activity.name
    elif activity.kind == cupti.ActivityKind.MEMCPY:
        name = COPIES.get(activity.copy_kind, "Memcpy")
    elif activity.kind == cupti.ActivityKind.MEMSET:
        name = "Memset"
    return _Record(
        activity.kind, name, activity.correlation_id, int(activity.start), int(activity.end)
    )


def _activities(records: Iterable[_Record], offset_ns: int) -> list[Activity]:
    """What ran on the GPU, if what started it is known."""
    launched: dict[int, int] = {}
    ran = []
    for record in records:
        if record.kind in LAUNCHES:
            # The runtime calls the driver: the first of both began it.
            earlier = launched.get(record.correlation, record.start_ns)
            launched[record.correlation] = min(earlier, record.start_ns)
        else:
            ran.append(record)
    return [
        Activity(
            _demangled(activity.name),
            (launched[activity.correlation] + offset_ns) / 1_000,
            (activity.start_ns + offset_ns) / 1_000,
            (activity.end_ns - activity.start_ns) / 1_000,
        )
        for activity in sorted(ran, key=lambda activity: activity.start_ns)
        if activity.correlation in launched
    ]


def _demangled(name: str) -> str:
    try:
        return str(cxxfilt.demangle(name))
    except cxxfilt.InvalidName:
        return name
