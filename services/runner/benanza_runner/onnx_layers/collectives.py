"""Collectives: layers of which each of several GPUs, the ranks, has an input of its own."""

from typing import Any

import numpy as np

from benanza_schemas.layer import Layer
from benanza_schemas.operators.table import facts_of

DOMAIN = "com.microsoft"
ALL_REDUCE, ALL_GATHER = "AllReduce", "AllGather"

ONE_GPU_ONLY = "it exchanges data with other GPUs, which nothing does here; give --runtime cuda"


def is_collective(layer: Layer) -> bool:
    """Whether any operator of the layer reads what other GPUs have."""
    return any(facts_of(each.op_type, each.domain).kind == "collective" for each in layer.operators)


def of_rank(first: Any, rank: int) -> Any:
    """The input of a rank, made of the first one's: the same numbers, so many places further on.

    Arrays are NumPy's or CuPy's.
    """
    return np.roll(first.reshape(-1), rank).reshape(first.shape)


def all_reduced(first: Any, ranks: int) -> Any:
    """The sum of the inputs of all ranks."""
    return sum(of_rank(first, rank) for rank in range(ranks))


def all_gathered(first: Any, ranks: int, axis: int) -> Any:
    """The inputs of all ranks, one behind another along the axis."""
    return np.concatenate([of_rank(first, rank) for rank in range(ranks)], axis)
