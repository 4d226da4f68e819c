"""What larger batches are worth: a model's bounds at several batch sizes, by sample."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from math import log2

from benanza.results.what_if import LEAST_SAVING, AtBatch, BatchSizes
from benanza_backbone.clickhouse.bounds import ModelBound


def by_batch_size(
    bounds: Iterable[ModelBound], files: Mapping[str, Hashable]
) -> tuple[BatchSizes, ...]:
    """The batch sizes of each model that has whole bounds at several, with all else the same.

    `files` holds what identifies the file of each model id, and what was derived of it.
    """
    alike: dict[tuple[object, ...], dict[int, ModelBound]] = {}
    for bound in bounds:
        if bound.sequential_us and not bound.partial:
            dims = tuple(sorted(bound.dims.items()))
            key = files[bound.model_id], dims, bound.system_id, bound.precision
            alike.setdefault(key, {})[bound.batch] = bound
    return tuple(
        _sizes([by_batch[batch] for batch in sorted(by_batch)])
        for by_batch in alike.values()
        if len(by_batch) > 1
    )


def _sizes(bounds: Sequence[ModelBound]) -> BatchSizes:
    first = bounds[0]
    sizes = [_at(first, None), *(_at(bound, before) for before, bound in pairwise(bounds))]
    return BatchSizes(
        model=first.model,
        dims=first.dims,
        system=first.system,
        system_id=first.system_id,
        runtime=first.runtime,
        precision=first.precision,
        sizes=tuple(sizes),
        enough=_enough(sizes),
    )


def _at(bound: ModelBound, before: ModelBound | None) -> AtBatch:
    saves = None
    if before is not None:
        doublings = max(log2(bound.batch / before.batch), 1.0)  # a smaller step counts as one
        saves = 1 - (_us_a_sample(bound) / _us_a_sample(before)) ** (1 / doublings)
    assert bound.sequential_us is not None, "bounds are whole"
    return AtBatch(
        batch=bound.batch,
        sequential_us=bound.sequential_us,
        us_a_sample=_us_a_sample(bound),
        saves=saves,
    )


def _us_a_sample(bound: ModelBound) -> float:
    assert bound.sequential_us is not None, "bounds are whole"
    return bound.sequential_us / bound.batch


def _enough(sizes: Sequence[AtBatch]) -> int | None:
    """The smallest size after which no doubling saves enough."""
    enough = None
    for before, after in reversed([*pairwise(sizes)]):
        assert after.saves is not None, "only the smallest has none"
        if after.saves >= LEAST_SAVING:
            break
        enough = before.batch
    return enough
