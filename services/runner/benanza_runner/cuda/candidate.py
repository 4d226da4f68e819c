"""A way of running a call, and a way that was refused."""

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.reasons import short_reason
from benanza_schemas.events import MAX_NAME_LENGTH, Variant

NO_LIBRARY = "none"
"""Stands for the library where nothing is started."""

Run = Callable[[], None]


class NotApplicableError(Exception):
    """A way that isn't one at this precision, such as Tensor Cores for float32."""


class Candidate(NamedTuple):
    """A way of running a call, ready to be tried; `library`, `algorithm` and `layout` name it.

    `prepare` makes it ready to run, such as by compiling it, and returns how many bytes of scratch
    memory it needs. It raises an exception where the library can't run it, and `NotApplicableError`
    where it shouldn't be tried at all.
    `run` starts the work once on the current stream, and may be captured into a graph.
    `result` is the tensor that it writes; `more` are the layer's further outputs, in order.
    `chosen_by_heuristic` says that the library's own heuristic would choose it without timing any.
    `compiles` says that `prepare` only compiles, and may run beside that of other candidates.
    `in_place` says that it starts nothing, since the result is an operand, seen otherwise.
    """

    library: str
    algorithm: str
    layout: str
    prepare: Callable[[], int]
    run: Run
    result: DeviceTensor
    more: tuple[DeviceTensor, ...] = ()
    chosen_by_heuristic: bool = False
    compiles: bool = False
    in_place: bool = False


def in_turn(*runs: Run) -> Run:
    """Starts these one after the other."""

    def run() -> None:
        for start in runs:
            start()

    return run


def refused(library: str, algorithm: str, layout: str, reason: object) -> Variant:
    """A variant that failed for this reason, such as an exception; names as in `timed_variant`."""
    return Variant(
        library=library,
        algorithm=algorithm[:MAX_NAME_LENGTH],
        layout=layout,
        failure=short_reason(str(reason)) or "?",
    )


def failed(candidate: Candidate, reason: object) -> Variant:
    """The variant that a candidate is, if it failed for this reason."""
    variant = refused(candidate.library, candidate.algorithm, candidate.layout, reason)
    return replace(variant, chosen_by_heuristic=candidate.chosen_by_heuristic)


def no_scratch() -> int:
    """What `Candidate.prepare` is where there is nothing to prepare."""
    return 0
