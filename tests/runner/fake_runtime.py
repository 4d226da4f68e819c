"""Runtimes for the tests: one that says how long layers take, one that misbehaves."""

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

import msgspec

from benanza_runner.runtime import Outcome, RunResult, Runtime
from benanza_runner.variants import timed_variant
from benanza_schemas.events import Ceiling, RunTimes, System, Variant, identified
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Program
from benanza_schemas.vocabulary import StoppedBy


def variant(us: float, algorithm: str = "fake") -> Variant:
    """A variant that took exactly this long, five times."""
    return timed_variant("fake", algorithm, (us,) * 5, StoppedBy.CONVERGED)


class FakeRuntime(Runtime):
    """Takes a microsecond for each operator, whatever it is, and has no bf16."""

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads

    def system(self) -> System:
        return identified(
            System(
                system_id="0" * 32,
                runtime="fake",
                accelerator="",
                driver="",
                cuda="",
                cudnn="",
                cublas="",
                cpu="paper",
                threads=self._threads,
                libraries={},
                method="1",
            )
        )

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        if precision == "bf16":
            return Outcome(failure="paper has no bf16")
        times = (variant(float(len(layer.operators))),)
        return Outcome(variants=times, environment={"process": str(os.getpid())})

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        return (Ceiling(name="flops", precision=precision, value=1e9, iqr=0.0),)

    def cache_bytes(self) -> int:
        return 4096

    def witness(self, program: Program, precision: Precision) -> RunResult:
        """Takes a microsecond for each step."""
        us = float(len(program.steps))
        return RunResult(sequential=RunTimes(us, 0.0, (us,)), calls=len(program.steps))


class MisbehavingRuntime(FakeRuntime):
    """Does to its process what the layer's operator is called."""

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        match layer.operators[0].op_type:
            case "Crash":
                os.write(2, b"something\nwent wrong in native code\n")
                ctypes.string_at(0)
            case "Abort":
                os.abort()
            case "Kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "Exit":
                sys.exit(7)
            case "Hang":
                time.sleep(3_600)
            case "HangOnce":
                self._hang_once(layer)
            case "Exhaust":
                bytearray(1 << 40)
            case "Raise":
                raise RuntimeError("first line\nsecond line")
            case "Print":
                print("this would spoil a table", flush=True)  # noqa: T201  # that is the test
        return super().measure(layer, precision)

    def _hang_once(self, layer: Layer) -> None:
        """The file named by the attribute remembers that it was tried."""
        path = str(layer.operators[0].attributes[0].value)
        if not Path(path).exists():
            Path(path).touch()
            time.sleep(3_600)

    def witness(self, program: Program, precision: Precision) -> RunResult:
        if precision == "tf32":
            os.abort()
        if precision == "fp16":
            time.sleep(3_600)
        return super().witness(program, precision)

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        if precision == "tf32":
            os.abort()
        return super().ceilings(precision)


class MeetingRuntime(FakeRuntime):
    """Measures nothing until so many layers were begun, each of which leaves a file in `folder`."""

    def __init__(self, folder: str, parties: int) -> None:
        super().__init__()
        self._folder = Path(folder)
        self._parties = parties

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        (self._folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        deadline = time.monotonic() + 20
        while len(list(self._folder.iterdir())) < self._parties and time.monotonic() < deadline:
            time.sleep(0.01)
        return super().measure(layer, precision)


class OrderedRuntime(FakeRuntime):
    """Has an accelerator that is called as CUDA's GPUs are counted."""

    def system(self) -> System:
        order = os.environ.get("CUDA_DEVICE_ORDER", "")
        return msgspec.structs.replace(super().system(), accelerator=order)


class TiringRuntime(FakeRuntime):
    """Slow from the `lasts`-th layer or model of its process on."""

    def __init__(self, lasts: int) -> None:
        super().__init__()
        self._lasts = lasts

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        return msgspec.structs.replace(super().measure(layer, precision), slowed=self._tired())

    def witness(self, program: Program, precision: Precision) -> RunResult:
        return msgspec.structs.replace(super().witness(program, precision), slowed=self._tired())

    def _tired(self) -> bool:
        self._lasts -= 1
        return self._lasts < 0


class SlowOnceRuntime(FakeRuntime):
    """Slow in the first process, which leaves a file of this name, and crashes in all later."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._later = Path(path).exists()
        Path(path).touch()

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        if self._later:
            os.abort()
        return msgspec.structs.replace(super().measure(layer, precision), slowed=True)


class EndlesslyStartingRuntime(FakeRuntime):
    """Leaves a file when it begins to start, which never ends."""

    def __init__(self, begun: str) -> None:
        Path(begun).touch()
        time.sleep(3_600)


class UnusableRuntime(FakeRuntime):
    """Can't be made."""

    def __init__(self) -> None:
        raise OSError("its library isn't there")


class NoRuntime:
    """Is none."""
