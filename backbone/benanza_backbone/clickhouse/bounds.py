"""A model's bound, and its history, as the store gives them and people read them.

The queries in `bound_queries` and `queries` give rows of these shapes; commands print them, and the
Python API returns them, as they are. Times are microseconds, named `…_us`; a figure that cannot be
had is `None`.
"""

from datetime import datetime
from typing import Literal

from benanza_backbone.document import Document
from benanza_schemas.events import Limit
from benanza_schemas.layer import Accounting, Precision


class MissingLayer(Document, frozen=True, kw_only=True):
    """A layer that a bound lacks, and why."""

    name: str
    op: str
    reason: str


class Coverage(Document, frozen=True, kw_only=True):
    """How many layers a bound counts, gets for free and leaves out, and which it lacks."""

    measured: int
    free: int
    not_counted: int
    missing: tuple[MissingLayer, ...]


class States(Document, frozen=True, kw_only=True):
    """How many states, such as a decoder's keys and values, a bound keeps in place, and how many it
    copies, and why.
    """

    in_place: int
    copied: int
    why_copied: tuple[str, ...]


class Slowed(Document, frozen=True, kw_only=True):
    """How many of a bound's calls were timed only while the device was slowed down, by what, such
    as its power limit or other programs, and the titles of their layers. They may take less.
    """

    calls: int
    by: tuple[str, ...]
    layers: tuple[str, ...]


class FasterRun(Document, frozen=True, kw_only=True):
    """A run of a model that took less than its bound, and how it was run."""

    run_as: str
    run_us: float


class ModelBound(Document, frozen=True, kw_only=True):
    """How fast a model could run on a system, by the times of its layers.

    `partial` says that layers are missing: the bound counts only those measured, and the true one
    is larger. Where none is measured, the sequential and the parallel figures are `None`. `dims`
    holds the named dimensions other than the batch, with their sizes, and inputs that were given
    values (`given_values`). `system` is the accelerator or, without one, the CPU; `runtime` is what
    measured the layers; `system_id` stands for these with all their versions. `layout` is that of
    the feature maps, empty where it makes no difference. `layers` counts the model's layers,
    `unique_layers` those that differ. `roofline_us` is the speed of light, and `limited_by` which
    ceiling holds it; where none does, as where the fewest operations aren't known, they are null
    and empty. `attainable_error_us` is how far off the attainable estimate may be, zero where all
    of its times were measured. `beaten_by` holds runs that are below the bound, fastest first; a
    bound with any is wrong. `critical_path` holds names of layers.
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
    limited_by: Limit | Literal[""]
    attainable_us: float | None
    attainable_error_us: float
    partial: bool
    layers: int
    unique_layers: int
    coverage: Coverage
    states: States
    slowed: Slowed
    beaten_by: tuple[FasterRun, ...]
    critical_path: tuple[str, ...]


class BoundVersion(Document, frozen=True, kw_only=True):
    """A bound from `computed_at` on, beside what it was before, and what moved it.

    `dims` is that of `ModelBound`. `moved_by` is `measurement`, `system` (its ceilings were
    measured), `model` (it was ingested), `withdrawal` (an import was taken back), or `unknown` if
    that event isn't in the store. A measurement has the `layer` measured (the first of that
    fingerprint in the model) with its operators, and its fastest variant or a `failure`; otherwise
    these are empty. Figures are null where nothing was measured yet, and before the first version.
    `missing` counts the layers that the bound lacks.
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
    moved_by: Literal["measurement", "system", "model", "withdrawal", "unknown"]
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
