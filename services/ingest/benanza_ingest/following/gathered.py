"""What a Gather picks from each element of the batch, if its indices number those of all of them.

PyTorch exports `as_strided` as a Gather from all elements of a tensor in one axis. The indices then
hold the batch size: in their number, and in what they add for each element of the batch.
"""

import numpy as np

from benanza_ingest.following.places import BatchPlace, plain_place
from benanza_ingest.resolving.fold import Array


def picked_from_each(indices: Array, inner: int, former: int) -> Array | None:
    """The indices into the first of `former` parts of `inner` elements, in a flat array.

    None unless the same is picked from each part, one part after the other. One part alone doesn't
    tell: then all of its elements must be picked, and it must be more than one.
    """
    if indices.size % former:
        return None
    size = inner * former
    within = np.where(indices < 0, indices + size, indices).reshape(former, -1)
    within = within - np.arange(former).reshape(former, 1) * inner
    first: Array = within[0]
    if not ((within == first).all() and (first >= 0).all() and (first < inner).all()):
        return None
    if former == 1 and (inner == 1 or np.unique(first).size < inner):
        return None
    return first


def picked_at(
    first: Array, shape: tuple[int, ...], inner: int, former: int, batch: int
) -> tuple[Array, BatchPlace] | None:
    """The indices that pick `first` from each of `batch` parts, and where the batch is in them.

    `shape` is that of the indices for `former` parts. None if no one can tell where the batch is.
    """
    found = plain_place(BatchPlace(0, first.size), (first.size * former,), shape, former)
    if found is None:
        return None
    every = first + np.arange(batch).reshape(batch, 1) * inner
    sizes = [*shape[: found.axis], -1, *shape[found.axis + 1 :]]
    return every.astype(np.int64).reshape(sizes), found
