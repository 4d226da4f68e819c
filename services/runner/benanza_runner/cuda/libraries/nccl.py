"""Collectives by NCCL, whose communicators for all GPUs are in this process.

NVLink SHARP's multicast is off unless NCCL_NVLS_ENABLE says otherwise: it needs a fabric manager,
and NCCL fails at the first call where that doesn't answer.
"""

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import cupy

from benanza_runner.cuda.calls import AllGather, AllReduce
from benanza_runner.cuda.candidate import Candidate, Run
from benanza_runner.cuda.device_tensor import DeviceTensor, stored_as
from benanza_runner.cuda.timing.peers import Peers, peers_of
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant
from benanza_schemas.layer import Precision

TYPES: dict[Precision, str] = {
    "fp32": "NCCL_FLOAT32",
    "tf32": "NCCL_FLOAT32",
    "fp16": "NCCL_FLOAT16",
    "bf16": "NCCL_BFLOAT16",
}
"""What NCCL calls floats of a precision."""


class Nccl:
    """A candidate for each collective, whose algorithm NCCL chooses."""

    library = "nccl"

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """One, for calls that take several GPUs."""
        call = workspace.call
        if not isinstance(call, (AllReduce, AllGather)):
            return
        peers, result = peers_of(call.ranks), workspace.result(call.output)
        layout = workspace.natural_layout(call.output)
        name = "all-reduce" if isinstance(call, AllReduce) else "all-gather"
        run = _Run(workspace, call, peers, result)
        yield Candidate(
            self.library, name, layout, run.prepare, run, result, chosen_by_heuristic=True
        )


class _Run:
    """Starts the call on all ranks. Their buffers are made when it is prepared."""

    def __init__(
        self,
        workspace: Workspace,
        call: AllReduce | AllGather,
        peers: Peers,
        result: DeviceTensor,
    ) -> None:
        self._operand = workspace.operand("input")
        self._precision: Precision = workspace.precision
        self._call, self._peers, self._result = call, peers, result
        self._starts: list[Callable[[Any], None]] = []
        self._after: Run | None = None

    def prepare(self) -> int:
        """Makes the buffers, and runs once: NCCL connects the GPUs when they first exchange data,
        which no graph can hold.
        """
        nccl, communicators = _communicators(self._peers.ranks)
        self._starts.clear()
        inputs = self._peers.inputs(self._operand.array)
        dtype, kind = stored_as(self._precision), getattr(nccl, TYPES[self._precision])
        results = self._peers.each(lambda rank: cupy.empty(self._call.output, dtype))
        staged = isinstance(self._call, AllGather) and self._call.outer > 1
        if not staged:
            results[0] = self._result.array
        else:
            self._after = self._in_order(results[0])
        for rank, communicator in enumerate(communicators):
            buffers = inputs[rank], results[rank]
            self._starts.append(_start(self._call, communicator, buffers, nccl.NCCL_SUM, kind))
        self()
        self._peers.synchronise()
        return 0

    def _in_order(self, staged: Any) -> Run:
        """NCCL puts the ranks' parts one behind another, as if the axis were the first one."""
        call, result = self._call, self._result.array
        assert isinstance(call, AllGather)
        parts = staged.reshape(call.ranks, call.outer, -1).transpose(1, 0, 2)
        there = result.reshape(parts.shape)
        return lambda: cupy.copyto(there, parts)

    def __call__(self) -> None:
        from cupy.cuda import nccl

        streams = self._peers.streams()
        nccl.groupStart()
        try:
            for start, stream in zip(self._starts, streams, strict=True):
                start(stream)
        finally:
            nccl.groupEnd()
        if self._after is not None:
            self._after()


def _start(
    call: AllReduce | AllGather, communicator: Any, buffers: tuple[Any, Any], total: int, kind: int
) -> Callable[[Any], None]:
    # The closure keeps the arrays, of which NCCL gets addresses.
    source, target = buffers
    if isinstance(call, AllReduce):
        return lambda stream: communicator.allReduce(
            source.data.ptr, target.data.ptr, source.size, kind, total, stream.ptr
        )
    return lambda stream: communicator.allGather(
        source.data.ptr, target.data.ptr, source.size, kind, stream.ptr
    )


def nccl_version() -> str:
    """NCCL's version, which it writes as 22809 for 2.28.9; `none` if it isn't installed."""
    from cupy.cuda import nccl

    if not nccl.available:
        return "none"
    number = int(nccl.get_version())
    return f"{number // 10_000}.{number % 10_000 // 100}.{number % 100}"


@cache
def _communicators(ranks: int) -> tuple[Any, list[Any]]:
    """NCCL, and a communicator for each GPU. Raises `ImportError` if NCCL isn't installed."""
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    from cupy.cuda import nccl

    if not nccl.available:
        raise ImportError("NCCL isn't installed; say: pip install 'benanza[cuda]'")
    return nccl, nccl.NcclCommunicator.initAll(list(range(ranks)))
