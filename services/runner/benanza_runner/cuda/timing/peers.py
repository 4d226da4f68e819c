"""The other GPUs of this host, where a call takes several: one process starts the work of all.

A GPU's graph is captured from its stream. Streams of peers join the capture when a call first needs
them, and the timer has them end before the graph does: so it holds the work of all GPUs. Nothing
else makes them wait for each other, so peers are always ready when the first GPU begins a call.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import cache
from typing import Any

import cupy
import pynvml

from benanza_runner.cuda.calls import AllGather, AllReduce, Call
from benanza_runner.cuda.lowering.collectives import check_seen
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.device_lock import DeviceLock, lock_path
from benanza_runner.onnx_layers.collectives import of_rank

_opened: list["Peers"] = []


class Peers:
    """The first GPUs that this process sees, so many `ranks`, with a stream on each but the first.

    Raises `UnsupportedError` if it sees fewer.
    """

    def __init__(self, ranks: int) -> None:
        _check(ranks)
        self.ranks = ranks
        self._streams: dict[int, Any] = {}
        self._events: dict[int, Any] = {}
        for rank in range(ranks):
            with cupy.cuda.Device(rank):
                self._events[rank] = cupy.cuda.Event(disable_timing=True)
                if rank:
                    self._streams[rank] = cupy.cuda.Stream(non_blocking=True)
        _opened.append(self)

    def streams(self) -> list[Any]:
        """Each rank's stream: of the first, the current one. If that is being captured, so are they
        from now on.
        """
        main = cupy.cuda.get_current_stream()
        others = self._streams.items() if main.is_capturing() else ()
        for rank, stream in others:
            if not stream.is_capturing():
                self._events[0].record(main)
                with cupy.cuda.Device(rank):
                    stream.wait_event(self._events[0])
        return [main, *self._streams.values()]

    def rejoin(self, main: Any) -> bool:
        """Has the capture of a stream wait for the peers' work that is part of it, if any is.

        Returns whether any is.
        """
        joined = {r: stream for r, stream in self._streams.items() if stream.is_capturing()}
        for rank, stream in joined.items():
            with cupy.cuda.Device(rank):
                self._events[rank].record(stream)
            main.wait_event(self._events[rank])
        return bool(joined)

    def connect(self) -> None:
        """Lets each GPU read and write the memory of the others. Raises `UnsupportedError` where
        some can't.
        """
        for rank in range(self.ranks):
            for other in range(self.ranks):
                if rank != other and not cupy.cuda.runtime.deviceCanAccessPeer(rank, other):
                    raise UnsupportedError("these GPUs can't read each other's memory")
        _connect(self.ranks)

    def each(self, make: Callable[[int], Any]) -> list[Any]:
        """What `make` makes for each rank, on its GPU."""
        made = []
        for rank in range(self.ranks):
            with cupy.cuda.Device(rank):
                made.append(make(rank))
        self.synchronise()
        return made

    def inputs(self, first: Any) -> list[Any]:
        """Each rank's input, on its GPU; `first` is the first one's, as it lies there."""
        rolled = [of_rank(first, rank) for rank in range(1, self.ranks)]
        self.synchronise()
        return self.each(lambda rank: cupy.array(rolled[rank - 1]) if rank else first)

    def synchronise(self) -> None:
        """Waits until all GPUs are idle."""
        for rank in range(self.ranks):
            with cupy.cuda.Device(rank):
                cupy.cuda.runtime.deviceSynchronize()


@cache
def peers_of(ranks: int) -> Peers:
    """The same ones each time. Raises as `Peers` does."""
    return Peers(ranks)


def rejoin_peers(main: Any) -> bool:
    """Has the capture of a stream wait for all peers' work that is part of it, if any is.

    Returns whether any is.
    """
    joined = [peers.rejoin(main) for peers in _opened]
    return any(joined)


def all_devices_of(call: Call, own: DeviceLock) -> AbstractContextManager[object]:
    """Keeps other processes from the GPUs that a call needs besides this process's own one.

    Locks are taken in one order by all, also this process's `own`, or two would wait for each
    other. Raises `UnsupportedError` if this process sees too few GPUs.
    """
    if not isinstance(call, (AllReduce, AllGather)):
        return nullcontext()
    _check(call.ranks)
    locks = ExitStack()
    uuids = [_uuid(rank) for rank in range(call.ranks)]
    for uuid in sorted(uuids):
        locks.enter_context(own if uuid == uuids[0] else _lock(uuid))
    return locks


@cache
def _lock(uuid: str) -> DeviceLock:
    return DeviceLock(lock_path(uuid))


def _check(ranks: int) -> None:
    check_seen(ranks, cupy.cuda.runtime.getDeviceCount())


def _uuid(rank: int) -> str:
    handle = pynvml.nvmlDeviceGetHandleByPciBusId(cupy.cuda.Device(rank).pci_bus_id)
    return str(pynvml.nvmlDeviceGetUUID(handle))


@cache
def _connect(ranks: int) -> None:
    for rank in range(ranks):
        with cupy.cuda.Device(rank):
            for other in range(ranks):
                if rank != other:
                    try:
                        cupy.cuda.runtime.deviceEnablePeerAccess(other)
                    except cupy.cuda.runtime.CUDARuntimeError as error:
                        if "AlreadyEnabled" not in str(error):
                            raise
