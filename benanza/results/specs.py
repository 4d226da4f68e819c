"""What a bound was found with, so that it can be found again; and what came of that."""

from benanza.results.bounds import LayerCounts
from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.document import Document
from benanza_schemas.events.derivation import Quantised
from benanza_schemas.layer import Accounting, Precision

SPEC_VERSION = 1


class SpecifiedModel(Document, frozen=True, kw_only=True):
    """A model: where its file is from, as a user names it, its SHA-256, what was bound, and what
    was derived.
    """

    source: str
    name: str
    sha256: str
    batch: int
    dims: dict[str, int]
    quantised: Quantised = ""
    tensor_parallel: int = 1


class SpecifiedData(Document, frozen=True, kw_only=True):
    """What layers were run with: weights and inputs, which are random, and the seed of both."""

    weights: str
    inputs: str
    seed: int


class SpecifiedBound(Document, frozen=True, kw_only=True):
    """Which bound it is, and its figures in microseconds, as in `ModelBound`."""

    precision: Precision
    accounting: Accounting
    fusion: bool
    sequential_us: float | None
    sequential_spread_us: float | None
    parallel_us: float | None
    partial: bool


class Spec(Result, frozen=True, kw_only=True):
    """A bound with the four parts of DLSpec: hardware, software, data and model.

    Source: Dakkak et al., "DLSpec: A Deep Learning Task Exchange Specification", OpML 2020.
    `software` and `hardware` are by names of their own, and only what is known of them.
    """

    version: int
    model: SpecifiedModel
    data: SpecifiedData
    software: dict[str, str]
    hardware: dict[str, str]
    bound: SpecifiedBound


class SpecDifference(Document, frozen=True, kw_only=True):
    """What was otherwise when a bound was found again; empty where one side doesn't have it."""

    what: str
    then: str
    now: str


class Reproduced(Result, frozen=True, kw_only=True):
    """A bound found again. `same` says that its sequential figure differs by no more than both
    spreads together. `layers` says how many of its layers were measured for that.
    """

    spec: Spec
    bound: ModelBound
    same: bool
    differences: tuple[SpecDifference, ...]
    layers: LayerCounts
