"""What the commands and the Python API give back: typed, and as the JSON documents.

`to_dict()` of each is the document that the command prints with `--format json`. Times are
microseconds, named `…_us`; a figure that cannot be had is `None`, never zero.
"""

from datetime import datetime
from typing import Any

import msgspec

from benanza_schemas.layer import Accounting, Kind, Precision


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What all results have."""

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it: maps, lists, text, numbers and nulls."""
        document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return document


class InspectedLayer(Result, frozen=True, kw_only=True):
    """A layer of a model. `index` is its position in topological order.

    `inputs` and `outputs` are shapes, weights among the inputs; an optional input left out
    has none. `flops` counts a multiply-add as two; `bytes` reads each input and writes each
    output once. A skipped layer has an empty fingerprint, and a `reason` that says how to
    mend it.
    """

    index: int
    name: str
    op: str
    domain: str
    fingerprint: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    dtype: str
    attributes: dict[str, Any]
    flops: int
    bytes: int
    parameters: int
    kind: Kind
    reason: str


class InspectedGroup(Result, frozen=True, kw_only=True):
    """Layers, by index, that a library may run as one call, and the rule that says so."""

    fingerprint: str
    rule: str
    layers: tuple[int, ...]


class SkippedLayer(Result, frozen=True, kw_only=True):
    """A layer of which too little is known to benchmark it, and why."""

    index: int
    name: str
    op: str
    domain: str
    reason: str


class Inspection(Result, frozen=True, kw_only=True):
    """The layers of a model at one batch size. `edges` go from an earlier index to a later."""

    model_id: str
    name: str
    opset: int
    batch: int
    layers: tuple[InspectedLayer, ...]
    edges: tuple[tuple[int, int], ...]
    groups: tuple[InspectedGroup, ...]
    unique_layers: int
    skipped: tuple[SkippedLayer, ...]

    def _repr_html_(self) -> str:
        from benanza.render.inspection import inspection_html

        return inspection_html(self)


class MissingLayer(Result, frozen=True, kw_only=True):
    """A layer that a bound lacks, and why."""

    name: str
    op: str
    reason: str


class Coverage(Result, frozen=True, kw_only=True):
    """How many layers a bound counts, has for free, and leaves out; and which it lacks."""

    measured: int
    free: int
    not_counted: int
    missing: tuple[MissingLayer, ...]


class Slowed(Result, frozen=True, kw_only=True):
    """How many of a bound's calls have their best time from a device that was slowed down each
    time that it was tried, and what did that, such as its power limit. They may take less.
    """

    calls: int
    by: tuple[str, ...]


class Bound(Result, frozen=True, kw_only=True):
    """How fast a model could run on a system, by the times of its layers.

    `partial` says that layers are missing: the bound counts those measured, and the true one
    is larger. Where it lacks layers and has none measured, the sequential and the parallel
    figures are `None`. `dims` holds the named dimensions other than the batch, and the sizes
    they were given. `system` is the accelerator or, without one, the CPU, and `runtime` what
    measured the layers; `system_id` stands for these with all their versions. `layout` is the
    one that images are kept in, empty where that makes no difference. `layers` counts the
    model's layers, `unique_layers` those that differ. `critical_path` holds names of layers.
    """

    model: str
    model_id: str
    batch: int
    dims: dict[str, int]
    system: str
    system_id: str
    runtime: str
    precision: Precision
    accounting: Accounting
    fusion: bool
    layout: str
    sequential_us: float | None
    sequential_spread_us: float | None
    parallel_us: float | None
    parallel_spread_us: float | None
    roofline_us: float | None
    attainable_us: float | None
    partial: bool
    layers: int
    unique_layers: int
    coverage: Coverage
    slowed: Slowed
    critical_path: tuple[str, ...]


class Bounds(Result, frozen=True, kw_only=True):
    """The bounds of some models."""

    bounds: tuple[Bound, ...]

    def _repr_html_(self) -> str:
        from benanza.render.bounds import bounds_html

        return bounds_html(self)


class LayerCounts(Result, frozen=True, kw_only=True):
    """What reuse saved in a run. Groups count as layers, each precision by itself.

    `total` are the layers of all models, `unique` those that differ. Of these, `known` had
    been measured before, `benchmarked` were measured now, and `failed` cannot be measured.
    A run that was interrupted leaves some unique layers in none of the three.
    """

    total: int
    unique: int
    known: int
    benchmarked: int
    failed: int


class FailedModel(Result, frozen=True, kw_only=True):
    """A model that has no bound, and why. `model` is as the run was given it."""

    model: str
    reason: str


class LowerBounds(Bounds, frozen=True, kw_only=True):
    """The bounds that a run found, what it took, and what reuse saved.

    `seconds` holds the time that each stage of the pipeline took.
    """

    layers: LayerCounts
    seconds: dict[str, float]
    errors: tuple[FailedModel, ...]

    def _repr_html_(self) -> str:
        from benanza.render.bounds import lower_bounds_html

        return lower_bounds_html(self)


class Witness(Result, frozen=True, kw_only=True):
    """How long a model took that was run as its bound says, beside the bound and the estimate.

    `sequential_us` is with one call after the other, `read_ahead_us` likewise with weights read
    into the cache before the calls that need them, or kept there, whichever was faster;
    `parallel_us` on several streams.
    `layout_changes` of the `calls` turned an image into another layout. `failure` says why there
    are no times.
    """

    model: str
    model_id: str
    batch: int
    system: str
    system_id: str
    runtime: str
    precision: Precision
    sequential_bound_us: float | None
    parallel_bound_us: float | None
    attainable_us: float | None
    sequential_us: float | None
    sequential_iqr_us: float | None
    read_ahead_us: float | None
    read_ahead_iqr_us: float | None
    parallel_us: float | None
    parallel_iqr_us: float | None
    calls: int
    layout_changes: int
    failure: str


class Witnesses(Result, frozen=True, kw_only=True):
    """Models that were run, and those that have no bound."""

    witnesses: tuple[Witness, ...]
    errors: tuple[FailedModel, ...]


class BoundVersion(Result, frozen=True, kw_only=True):
    """A bound from `computed_at` on, beside what it was before, and what moved it.

    `dims` is that of `Bound`. `moved_by` is `measurement`, `system` (its ceilings were
    measured), `model` (it was ingested) or `unknown`. A measurement has the `layer` measured
    with its operators and either its time or a `failure`. Figures are null where nothing was
    measured yet, and before the first version. `missing` counts the layers that the bound lacks.
    """

    model: str
    model_id: str
    batch: int
    dims: dict[str, int]
    system: str
    system_id: str
    runtime: str
    precision: Precision
    accounting: Accounting
    fusion: bool
    computed_at: datetime
    moved_by: str
    layer: str
    op: str
    fingerprint: str
    library: str
    algorithm: str
    layer_us: float | None
    failure: str
    sequential_before_us: float | None
    sequential_us: float | None
    parallel_before_us: float | None
    parallel_us: float | None
    missing_before: int | None
    missing: int


class History(Result, frozen=True, kw_only=True):
    """The versions of a model's bounds, oldest first."""

    history: tuple[BoundVersion, ...]


class Setting(Result, frozen=True, kw_only=True):
    """A setting: its value as text, without passwords, and where that comes from."""

    name: str
    value: str
    source: str
    description: str


class Check(Result, frozen=True, kw_only=True):
    """Something that the settings name: whether it answers, and what it said."""

    name: str
    ok: bool
    detail: str


class ConfigReport(Result, frozen=True, kw_only=True):
    """Every setting, variables that look like one and are none, and every check."""

    settings: tuple[Setting, ...]
    unknown: tuple[str, ...]
    checks: tuple[Check, ...]
