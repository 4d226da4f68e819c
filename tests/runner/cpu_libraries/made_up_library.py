"""A library for tests, which computes a Relu with NumPy in ways that are right, wrong or worse."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cpu_libraries.cpu_library import Calls, CpuCandidate, CpuWork
from benanza_runner.cuda.candidate import refused
from benanza_runner.measuring.sampling import Timing
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.events import Variant

EMPTY_CALL_US = 1.0


class MadeUpCalls:
    """Calls that take a time that is told, which is that of the `copies`."""

    def __init__(self, work: CpuWork, way: str, copies: int, us: float) -> None:
        self._given = next(iter(work.model.inputs.values()))
        self._output = work.model.proto.graph.output[0].name
        self._way = way
        self._took = Timing(EMPTY_CALL_US + copies * us, False)

    def call(self) -> Timing:
        if self._way == "ends the process":
            os._exit(7)
        if self._way == "fails":
            raise RuntimeError("out of luck")
        return self._took

    def results(self) -> Mapping[str, Array]:
        right = np.maximum(self._given, 0)
        return {self._output: right + 1 if self._way == "wrong" else right}


class MadeUpLibrary:
    """Offers Relus by these ways, each of which takes so many microseconds. `opened` says which
    were opened with how many copies.
    """

    library = "made up"
    version = "1.2"

    def __init__(self, ways: Mapping[str, float]) -> None:
        self._ways = ways
        self._open = 0
        self.opened: list[tuple[str, int]] = []

    def candidates(self, work: CpuWork) -> Iterator[CpuCandidate | Variant]:
        if work.layer.title() != "Relu":
            yield refused(self.library, work.layer.title(), "", "made up for Relus")
            return
        for way, us in self._ways.items():
            opening = partial(self._opened, work, way, us)
            yield CpuCandidate(self.library, way, work.as_onnx, opening, most_copies=4)

    def empty_call_us(self, threads: int) -> float:
        assert threads
        return EMPTY_CALL_US

    @contextmanager
    def _opened(self, work: CpuWork, way: str, us: float, copies: int) -> Iterator[Calls]:
        assert not self._open, "one at a time"
        self._open += 1
        self.opened.append((way, copies))
        try:
            yield MadeUpCalls(work, way, copies, us)
        finally:
            self._open -= 1


class CrashingRuntime(OnnxRuntime):
    """ONNX Runtime beside a library that ends the process. It is made in a worker."""

    def __init__(self, journal: str) -> None:
        library = MadeUpLibrary({"ends the process": 1.0, "right": 1.0})
        super().__init__(threads=1, libraries=(library,), journal=journal)
