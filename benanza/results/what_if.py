"""What a bound would be under other policies."""

from typing import ClassVar

from benanza.results.result import Result
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.document import Document
from benanza_schemas.layer import Precision

LEAST_SAVING = 0.05
"""Of a sample's time: a doubling of the batch that saves less doesn't pay for what waiting for more
samples costs.
"""


class WhatIfLayers(Document, frozen=True, kw_only=True):
    """Layers that take another time, by position and name, with their operators joined by `+`.

    `us` is their time under the policy, or in another bound, `bound_us` in the bound itself, both
    with layout conversions.
    Nothing smaller can be compared: some call of either covers all of them.
    """

    positions: tuple[int, ...]
    layers: tuple[str, ...]
    op: str
    bound_us: float
    us: float


class WhatIf(Document, frozen=True, kw_only=True):
    """The bound under a policy, planned anew as a whole. `name` says what the policy is.

    `sequential_us` is the sum of its calls, `more_us` how much more that is than the bound, less if
    negative, and `ratio` is that to the bound. Both are `None` where it lacks layers that the bound
    doesn't: `lacking` is how many layers that are counted have no time. To a bound of zero there is
    no ratio either. `layers` holds what makes the difference, the greatest first.
    """

    name: str
    precision: Precision
    sequential_us: float
    more_us: float | None
    ratio: float | None
    lacking: int
    calls: int
    layers: tuple[WhatIfLayers, ...]


class ModelWhatIfs(Document, frozen=True, kw_only=True):
    """A bound, and what it would be under the policies that make a difference."""

    bound: ModelBound
    what_ifs: tuple[WhatIf, ...]


class AtBatch(Document, frozen=True, kw_only=True):
    """A model's sequential bound at a batch size, and what each of its samples takes of it.

    `saves` is the share of a sample's time that doubling the batch saves, on the way here from the
    size before it; negative if samples take longer. A step of less than a doubling counts as one.
    It is `None` for the smallest size.
    """

    batch: int
    sequential_us: float
    us_a_sample: float
    saves: float | None


class BatchSizes(Document, frozen=True, kw_only=True):
    """A model at the batch sizes that it has whole bounds at, the smallest first.

    `enough` is the size from which on each doubling saves less than `LEAST_SAVING`; `None` if the
    last one still saves more. The rest is as in a bound.
    """

    model: str
    dims: dict[str, int]
    system: str
    system_id: str
    runtime: str
    precision: Precision
    sizes: tuple[AtBatch, ...]
    enough: int | None


class WhatIfs(Result, frozen=True, kw_only=True):
    """What some bounds would be, and where there are several, what larger batches are worth."""

    _rows: ClassVar[str] = "models.what_ifs"

    models: tuple[ModelWhatIfs, ...]
    batch_sizes: tuple[BatchSizes, ...] = ()
