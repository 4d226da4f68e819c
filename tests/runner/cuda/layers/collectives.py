"""Layers of which each of several GPUs has a part."""

from benanza_schemas.layer import Layer
from tests.runner.layers import floats, single


def all_reduce(ranks: int, *shape: int) -> Layer:
    x = floats(*shape)
    return single("AllReduce", 1, (x,), (x,), "com.microsoft", group_size=ranks)


def all_gather(ranks: int, axis: int, *shape: int) -> Layer:
    result = list(shape)
    result[axis] *= ranks
    more = {"group_size": ranks, "axis": axis}
    return single("AllGather", 1, (floats(*shape),), (floats(*result),), "com.microsoft", **more)


COLLECTIVES: dict[str, Layer] = {
    "all-reduce of a row": all_reduce(2, 1, 1, 2048),
    "all-reduce of odd sizes": all_reduce(2, 3, 5, 7),
    "all-gather of a row": all_gather(2, 2, 1, 1, 640),
    "all-gather of rows": all_gather(2, 2, 3, 1, 24),
    "all-gather of rows of odd sizes": all_gather(2, 1, 3, 5),
}
