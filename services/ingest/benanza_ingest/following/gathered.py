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
    first: Array = within[0].astype(indices.dtype)
    if not ((within == first).all() and (first >= 0).all() and (first < inner).all()):
        return None
    if former == 1 and (inner == 1 or np.unique(first).size < inner):
        return None
    return first


def place_in_indices(count: int, shape: tuple[int, ...], former: int) -> BatchPlace | None:
    """Where the batch is in indices of `shape` that pick `count` elements from each of `former`
    parts. None if no one can tell.
    """
    return plain_place(BatchPlace(0, count), (count * former,), shape, former)


def picked_from_all(first: Array, inner: int, batch: int) -> Array:
    """The indices that pick `first` from each of `batch` parts, in a flat array of their type."""
    every: Array = first + np.arange(batch, dtype=first.dtype).reshape(batch, 1) * inner
    return every.ravel()
