"""A trace's file, in whichever of the known formats it is."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from benanza.tracing.formats.chrome import events_of, head_of
from benanza.tracing.formats.kineto import KinetoReader
from benanza.tracing.formats.nsight import MAGIC, nsight_devices, nsight_events
from benanza.tracing.formats.onnxruntime_nodes import NodeReader
from benanza.tracing.formats.recorded import Event
from benanza_backbone.errors import BenanzaError

TraceFormat = Literal["PyTorch", "ONNX Runtime", "Nsight Systems"]


REPORTS = frozenset((".nsys-rep", ".qdrep"))
"""How reports of Nsight Systems end that nothing else can read."""

NOT_AS_WRITTEN = "not as a profiler writes them"
NEGATIVE = "with a negative duration"

Item = TypeVar("Item")


class Trace(NamedTuple):
    """A trace: the names of its GPUs, where it has them, and its events, to be read once. Those
    that can't be are left out, and `left_out` counts them by what is wrong with them.
    """

    format: TraceFormat
    devices: tuple[str, ...]
    events: Iterator[Event]
    left_out: Counter[str]


def read_trace(path: Path, dtype: str = "") -> Trace:
    """The trace in a file, whose tensors are of this type where it has shapes alone. Raises
    `BenanzaError` if it is none, at once or while it is read.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
    except OSError as error:
        raise BenanzaError(f"{path} can't be read: {error.strerror}; name a trace") from error
    if path.suffix in REPORTS:
        raise BenanzaError(f"{path} is to be exported: nsys export --type sqlite {path.name}")
    left_out: Counter[str] = Counter()
    if begin == MAGIC:
        events = _events(_checked(path, nsight_events(path, dtype)), _same, left_out)
        return Trace("Nsight Systems", nsight_devices(path), events, left_out)
    head = head_of(path)
    written = events_of(path, is_list=head.is_list)
    if head.is_list:
        return Trace("ONNX Runtime", (), _events(written, NodeReader().read, left_out), left_out)
    events = _events(written, KinetoReader().read, left_out)
    return Trace("PyTorch", head.devices, events, left_out)


def _checked(path: Path, events: Iterator[Event]) -> Iterator[Event]:
    try:
        yield from events
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
        raise BenanzaError(
            f"{path} has a row that isn't as Nsight Systems writes it ({why}); export it again"
        ) from error


def _events(
    items: Iterable[Item], read: Callable[[Item], Event | None], left_out: Counter[str]
) -> Iterator[Event]:
    for item in items:
        try:
            event = read(item)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            # An event can differ from what the profiler writes in too many ways to list.
            left_out[NOT_AS_WRITTEN] += 1
            continue
        if event is not None and not (math.isfinite(event.start_us) and math.isfinite(event.us)):
            left_out[NOT_AS_WRITTEN] += 1
        elif event is not None and event.us < 0:
            left_out[NEGATIVE] += 1
        elif event is not None:
            yield event


def _same(event: Event) -> Event:
    return event
