"""A way of running a call, and a way that can't be taken."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from benanza_runner.cuda.arrays import Placed
from benanza_runner.reasons import one_line
from benanza_schemas.events import Variant

Run = Callable[[], None]


class NotMeantError(Exception):
    """A way that isn't one at this precision, such as Tensor Cores for float32."""


class Candidate(NamedTuple):
    """`run` starts the work once on the current stream, and may be captured into a graph.

    `chosen_by_heuristic` says that the library would take it of itself, without timing any.
    `result` is what it writes, and `more` what it writes besides: the layer's outputs in order.
    `prepare` makes it ready, such as by compiling it, and raises an exception where it can't,
    `NotMeantError` where it shouldn't be tried at all; it gives the bytes of scratch memory
    that it needs.
    """

    library: str
    algorithm: str
    layout: str
    prepare: Callable[[], int]
    run: Run
    result: Placed
    more: tuple[Placed, ...] = ()
    chosen_by_heuristic: bool = False


def refused(library: str, algorithm: str, layout: str, reason: object) -> Variant:
    """A variant that failed, for this reason."""
    return Variant(
        library=library, algorithm=algorithm, layout=layout, failure=one_line(str(reason)) or "?"
    )


def failed(candidate: Candidate, reason: object) -> Variant:
    """The variant that a candidate is, if it failed for this reason."""
    found = refused(candidate.library, candidate.algorithm, candidate.layout, reason)
    return msgspec.structs.replace(found, chosen_by_heuristic=candidate.chosen_by_heuristic)


def no_scratch() -> int:
    """What `prepare` is where there is nothing to prepare."""
    return 0
