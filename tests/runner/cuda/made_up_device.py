"""A made-up device, library and timers, with which the search is tested without a GPU.

Candidates write their results with NumPy, and say how long they took by moving the device's clock.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Convolution
from benanza_runner.cuda.candidate import Candidate, NotApplicableError, Run
from benanza_runner.cuda.device_tensor import DeviceTensor, to_bits
from benanza_runner.cuda.layouts import feature_map_layouts
from benanza_runner.cuda.search.instruments import NoiseError
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.measuring.sampling import Timing
from benanza_runner.measuring.search import Batch
from benanza_schemas.events import Variant

START_US = 3.0
"""What the start of a replay takes."""

CONVERSION_US = 2.0


class MadeUpDevice:
    """A device and its timer. Its clock only moves while something runs.

    `noise` is the share by which a run may take longer. `slowed` lists what slows the device down
    at each time that it is asked; nothing once it is empty.
    """

    def __init__(self, noise: float = 0.0, seed: int = 0) -> None:
        self.now_us = 0.0
        self.runs: Counter[str] = Counter()
        self.replays: Counter[str] = Counter()
        self.slowed: list[tuple[str, ...]] = []
        self._noise = noise
        self._random = Random(seed)

    def run_for(self, name: str, us: float) -> None:
        """Something of this name runs."""
        self.runs[name] += 1
        self.now_us += us * (1 + self._noise * self._random.expovariate(1))

    def replayed(self, run: Run, calls: int) -> Batch:
        def replay() -> Timing:
            before_us, runs = self.now_us, self.runs.copy()
            self.now_us += START_US
            for _ in range(calls):
                run()
            self.replays.update((self.runs - runs).keys())
            return Timing(self.now_us - before_us, disturbed=False)

        return Batch(replay, calls)

    def slowed_by(self) -> tuple[str, ...]:
        return self.slowed.pop(0) if self.slowed else ()

    def slowed_at_work_by(self) -> tuple[str, ...]:
        return self.slowed_by()

    def convert(self, source: DeviceTensor, target: DeviceTensor) -> Run:
        """A layout conversion."""
        return lambda: self.run_for("conversion", CONVERSION_US)


class MadeUpVariant(NamedTuple):
    """How a variant behaves. `first_us` is what its first run takes more than others."""

    algorithm: str
    us: float
    layout: str = ""
    first_us: float = 0.0
    wrong: bool = False
    writes_nothing: bool = False
    not_applicable: bool = False
    fails_to_prepare: bool = False
    fails_from_run: int | None = None
    chosen_by_heuristic: bool = False
    library: str = "made-up"


class MadeUpLibrary:
    """Offers these variants for each convolution, whose results should be `expected`."""

    library = "made-up"

    def __init__(
        self, device: MadeUpDevice, variants: Sequence[MadeUpVariant], expected: Array
    ) -> None:
        self._device = device
        self._variants = variants
        self._expected = expected

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        if not isinstance(workspace.call, Convolution):
            return
        natural = tuple(range(self._expected.ndim))
        orders = dict(feature_map_layouts(self._expected.ndim))
        for variant in self._variants:
            order = orders.get(variant.layout, natural)
            result = workspace.result(workspace.call.output, order)
            yield Candidate(
                variant.library,
                variant.algorithm,
                variant.layout,
                _prepare(variant),
                self._run(variant, result),
                result,
                chosen_by_heuristic=variant.chosen_by_heuristic,
            )

    def _run(self, variant: MadeUpVariant, result: DeviceTensor) -> Run:
        written = self._expected * (2 if variant.wrong else 1)
        bits = to_bits(written.transpose(result.order), result.precision)

        def run() -> None:
            runs = self._device.runs[variant.algorithm]
            if variant.fails_from_run is not None and runs >= variant.fails_from_run:
                raise RuntimeError(f"{variant.algorithm} is out of order")
            us = variant.us + (0.0 if runs else variant.first_us)
            self._device.run_for(variant.algorithm, us)
            if not variant.writes_nothing:
                result.array[...] = bits

        return run


def _prepare(variant: MadeUpVariant) -> Callable[[], int]:
    def prepare() -> int:
        if variant.not_applicable:
            raise NotApplicableError("Tensor Cores for float32")
        if variant.fails_to_prepare:
            raise ValueError("no such engine")
        return 0

    return prepare


class BrokenLibrary:
    """Raises an exception instead of offering anything."""

    library = "broken"

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        raise OSError("its library isn't there")


class MadeUpInterleavedTimer:
    """Calls take a little longer after other kernels, and longer still with cold weights.

    With `lost`, no time can be told from noise. `forgotten` counts how often it was to forget.
    """

    def __init__(self, *, lost: bool = False) -> None:
        self.forgotten = 0
        self._lost = lost

    def forget(self) -> None:
        self.forgotten += 1

    def interleaved_us(self, run: Run, alone_us: float) -> tuple[float, ...]:
        if self._lost:
            raise NoiseError("it takes nothing")
        return (alone_us + 0.5,) * 7

    def weights_cold_us(
        self,
        run: Run,
        alone_us: float,
        read: Sequence[DeviceTensor],
        written: DeviceTensor,
        scratch: Any | None,
    ) -> tuple[float, ...]:
        return (alone_us + 2.0,) * 7


def unwritten(result: DeviceTensor) -> bool:
    """Whether elements of a float result were never written since it was poisoned."""
    return bool(np.isnan(result.floats()).any())
