"""What `benchmarks.pytorch.compare` found: a file of lines of JSON, each a row of one of these
kinds. Of several rows of the same, the last one counts.
"""

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import msgspec

from benanza_schemas.layer import Precision

Key = tuple[str, Precision, int]
"""A model, a precision and a batch size."""


class TorchAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """A model in one configuration: what a run takes on the device, or why there is no time.

    `error` is ‖result − expected‖ / ‖expected‖, `kernels` how many kernels, copies and fills its
    CUDA graph holds.
    """

    configuration: str
    median_us: float | None = None
    iqr_us: float | None = None
    samples: int = 0
    kernels: int | None = None
    error: float | None = None
    failure: str = ""


class Timed(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A model in PyTorch. `failure` says why nothing could be tried."""

    model: str
    precision: Precision
    batch: int
    attempts: tuple[TorchAttempt, ...] = ()
    failure: str = ""

    def key(self) -> Key:
        """What it is of."""
        return self.model, self.precision, self.batch

    def failed(self) -> bool:
        """Whether no configuration gave the right result."""
        return self.best() is None

    def best(self) -> TorchAttempt | None:
        """The fastest configuration, if any gave the right result."""
        right = [attempt for attempt in self.attempts if not attempt.failure and attempt.median_us]
        return min(right, key=lambda attempt: attempt.median_us or 0.0, default=None)


class Lacking(msgspec.Struct, frozen=True):
    """Layers that a bound lacks: how many of each operator, and the reason."""

    reason: str
    operators: dict[str, int]


class Bounded(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A model's sequential bound under the accounting `full`, with fusion.

    `counted` is how many layers take time; those in `lacking` are not in the bound. `failure` says
    why there is no bound at all.
    """

    model: str
    precision: Precision
    batch: int
    bound_us: float | None = None
    spread_us: float | None = None
    parallel_us: float | None = None
    layout: str = ""
    calls: int = 0
    counted: int = 0
    lacking: tuple[Lacking, ...] = ()
    failure: str = ""

    def key(self) -> Key:
        """What it is of."""
        return self.model, self.precision, self.batch

    def failed(self) -> bool:
        """Whether there is no bound at all."""
        return self.bound_us is None

    def measured(self) -> int:
        """How many layers are in it."""
        return self.counted - sum(sum(missing.operators.values()) for missing in self.lacking)


class Ran(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A model that was run as its bound says, with the bound and its attainable estimate.

    In `sequential_us` the calls run in order, in `read_ahead_us` likewise, with weights prefetched,
    in `parallel_us` on several streams; what is `None` was not run. `calls` counts layout
    conversions as well. `error` is ‖result − reference‖ / ‖reference‖ of the worst output, and up
    to `allowed_error` the run is right. Both are `None` where nothing was compared; `unchecked`
    says why. `failure` says why there are no times.
    """

    model: str
    precision: Precision
    batch: int
    bound_us: float | None = None
    attainable_us: float | None = None
    sequential_us: float | None = None
    read_ahead_us: float | None = None
    parallel_us: float | None = None
    calls: int = 0
    error: float | None = None
    allowed_error: float | None = None
    unchecked: str = ""
    failure: str = ""

    def key(self) -> Key:
        """What it is of."""
        return self.model, self.precision, self.batch

    def failed(self) -> bool:
        """Whether it could not be run."""
        return self.sequential_us is None

    def best_us(self) -> float | None:
        """The time of the fastest of the three ways."""
        ways = self.sequential_us, self.read_ahead_us, self.parallel_us
        return min((us for us in ways if us is not None), default=None)


class Software(msgspec.Struct, frozen=True, tag=True):
    """The device and the libraries of one of the sides."""

    side: str
    versions: dict[str, str]


Result = Timed | Bounded | Ran
"""What a side finds for a model at a precision."""

Row = Result | Software


def append(path: Path, row: Row) -> None:
    """Adds a row to a file of lines of JSON."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(row) + b"\n")


def read(paths: Iterable[Path]) -> list[Row]:
    """The rows of all files, in order. Raises `msgspec.DecodeError` for any other line."""
    decoder = msgspec.json.Decoder(Row)
    return list(chain.from_iterable(decoder.decode_lines(path.read_bytes()) for path in paths))
