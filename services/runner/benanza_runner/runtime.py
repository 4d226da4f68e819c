"""The port to whatever runs layers: a library on a device.

`tests/runner/runtime_contract.py` is the suite that every adapter passes.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import msgspec

from benanza_schemas.events import Ceiling, RunTimes, System, Variant
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.program import Program


class Outcome(msgspec.Struct, frozen=True):
    """What came of measuring a layer: variants, or the reason that none could be tried.

    `environment` says what was seen around the measurement. `slowed` is whether everything took
    longer by then than when the process started, so that another process would be faster.
    """

    variants: tuple[Variant, ...] = ()
    failure: str = ""
    environment: dict[str, str] = {}
    slowed: bool = False


class RunResult(msgspec.Struct, frozen=True):
    """What came of running a whole model: the fields of `ModelWitnessed` of these names, and
    `slowed` as in `Outcome`.
    """

    sequential: RunTimes | None = None
    read_ahead: RunTimes | None = None
    parallel: RunTimes | None = None
    calls: int = 0
    layout_changes: int = 0
    error: float | None = None
    allowed_error: float | None = None
    unchecked: str = ""
    failure: str = ""
    slowed: bool = False


class Runtime(ABC):
    """Runs layers and times them.

    Whatever is wrong with a layer is part of the outcome and never an exception.
    """

    @abstractmethod
    def system(self) -> System:
        """What the measurements are made on and with. It is the same at each call."""

    @property
    def at_once(self) -> int:
        """How many layers it is worth to `expect` at a time."""
        return 1

    @abstractmethod
    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        """Times a layer in its canonical form, with its inputs and weights in the caches."""

    def expect(self, layers: Iterable[tuple[Layer, Precision]]) -> None:  # noqa: B027
        """Says which layers will be measured soon, in this order, so that work can begin."""

    @abstractmethod
    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        """The rates that this system reaches, measured now; at most one of each `CeilingName`.

        A rate that the system can't reach at all at this precision is left out.
        """

    def cache_bytes(self) -> int:
        """The size in bytes of the last cache before the memory, zero if it isn't known."""
        return 0

    def witness(self, program: Program, precision: Precision) -> RunResult:
        """Runs a whole model, each call reading what an earlier one wrote."""
        return RunResult(failure="this runtime runs single layers only")
