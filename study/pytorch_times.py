"""PyTorch's fastest runs, as `benchmarks.pytorch.compare` recorded them."""

from collections.abc import Iterable

from benanza.pytorch.names import parsed
from benanza_schemas.layer import Precision
from benchmarks.pytorch.rows import Timed


def pytorch_times(
    rows: Iterable[Timed], precision: Precision = "fp16", batch: int = 1
) -> dict[str, float]:
    """The fastest run of each model that gave the right result, in µs, by its name in the zoo."""
    times = {}
    for row in rows:
        best = row.best()
        if best and best.median_us and (row.precision, row.batch) == (precision, batch):
            times[":".join(parsed(row.model))] = best.median_us
    return times


def without_time(rows: Iterable[Timed]) -> dict[str, str]:
    """Why a model that was run has no time, by its name in the zoo, precision and batch size: the
    reason of its first configuration.
    """
    reasons = {}
    for row in rows:
        if row.failed():
            tried = [each.failure for each in row.attempts if each.failure]
            what = f"{':'.join(parsed(row.model))}, {row.precision}, batch {row.batch}"
            reasons[what] = row.failure or tried[0]
    return reasons
