"""What the commands for suites give back."""

from benanza.results.result import Result
from benanza_schemas.layer import Precision

OF_SUITES = "networks of a suite"
"""Begins the method of a system on which suites ran: what else is asked for never waits there."""


class LeftOut(Result, frozen=True, kw_only=True):
    """A network that no suite can hold, and why: its fingerprint and the names of its operators."""

    fingerprint: str
    title: str
    reason: str


class SuiteWritten(Result, frozen=True, kw_only=True):
    """What went into a suite: so many networks of the models, and so many others among them."""

    networks: int
    dummies: int
    left_out: tuple[LeftOut, ...]


class SuiteImported(Result, frozen=True, kw_only=True):
    """So many networks of a suite were timed on this system, and so many failed."""

    system_id: str
    cpu: str
    timed: int
    failed: int


class LackingLayers(Result, frozen=True, kw_only=True):
    """Layers of a model, by position, whose network has no time, and why."""

    reason: str
    layers: tuple[int, ...]


class ConstructedLatency(Result, frozen=True, kw_only=True):
    """A model's latency on a system, from the times of the networks that make it up.

    `sequential_us` is their sum, `critical_path_us` that along the longest path of networks that
    wait for each other. Both count only what has a time: they are null where nothing has.
    """

    name: str
    model_id: str
    batch: int
    granularity: int
    system_id: str
    cpu: str
    threads: int
    precision: Precision
    sequences: int
    unique: int
    sequential_us: float | None
    critical_path_us: float | None
    lacking: tuple[LackingLayers, ...]


class ConstructedLatencies(Result, frozen=True, kw_only=True):
    """Models' latencies, one for each system that has times."""

    latencies: tuple[ConstructedLatency, ...]
