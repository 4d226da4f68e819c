"""A trace's file, in whichever of the known formats it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from benanza.tracing.formats.chrome import events_of, head_of
from benanza.tracing.formats.kineto import kineto_events
from benanza.tracing.formats.nsight import MAGIC, nsight_devices, nsight_events
from benanza.tracing.formats.onnxruntime_nodes import onnxruntime_events
from benanza.tracing.formats.recorded import Event
from benanza_backbone.errors import BenanzaError

TraceFormat = Literal["PyTorch", "ONNX Runtime", "Nsight Systems"]


class Trace(NamedTuple):
    """A trace: the names of its GPUs, where it has them, and its events, to be read once."""

    format: TraceFormat
    devices: tuple[str, ...]
    events: Iterator[Event]


def read_trace(path: Path) -> Trace:
    """The trace in a file. Raises `BenanzaError` if it is none, at once or while it is read."""
    try:
        with path.open("rb") as file:
            begin = file.read(len(MAGIC))
    except OSError as error:
        raise BenanzaError(f"{path} can't be read: {error.strerror}; name a trace") from error
    if begin == MAGIC:
        return Trace("Nsight Systems", nsight_devices(path), _checked(path, nsight_events(path)))
    head = head_of(path)
    events = events_of(path, is_list=head.is_list)
    if head.is_list:
        return Trace("ONNX Runtime", (), _checked(path, onnxruntime_events(events)))
    return Trace("PyTorch", head.devices, _checked(path, kineto_events(events)))


def _checked(path: Path, events: Iterator[Event]) -> Iterator[Event]:
    try:
        yield from events
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        # An event can differ from what the profiler writes in too many ways to list.
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
        raise BenanzaError(
            f"{path} has an event that isn't as a profiler writes it ({why}); record it again"
        ) from error
