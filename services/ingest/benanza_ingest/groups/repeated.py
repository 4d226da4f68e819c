"""Constants that repeat smaller ones, such as relative positions for each item of a batch.

A kernel that computes where it reads can read the smaller one, which then stays in a cache.
"""

from typing import NamedTuple

import numpy as np

from benanza_ingest.resolving.graph import Graph
from benanza_schemas.layer import Layer, Operator, Tensor

_SAME_ELEMENTS = frozenset(("Cast", "Identity"))

VERSIONS = (8, 13)
"""Of Expand: all operators of a layer have to be of one operator set."""


class Repeated(NamedTuple):
    """An Expand by which a group makes a constant itself: names of what it reads, and writes."""

    layer: Layer
    inputs: tuple[str, str]
    output: str


def repeated(graph: Graph, name: str, version: int) -> Repeated | None:
    """The Expand that makes a constant of this name, for an operator of this version; None if it is
    no larger than what it repeats.

    What it reads is computed from the model's constants alone, so that it is a constant, too.
    """
    made = graph.constants.producer(name)
    while made is not None and made[0].op_type in _SAME_ELEMENTS:
        made = graph.constants.producer(made[1][0])
    if made is None or made[0].op_type != "Expand":
        return None
    known, source = graph.constants.type_of(name), graph.constants.type_of(made[1][0])
    if known is None or source is None or not (known.resolved and source.resolved):
        return None
    if source.elements() == known.elements():
        return None
    shape = known.dims()
    tensors = (
        Tensor(known.dtype, source.dims(), constant=True),
        Tensor("int64", (len(shape),), constant=True, value=np.array(shape, "<i8").tobytes()),
        Tensor(known.dtype, shape),
    )
    versions = [candidate for candidate in VERSIONS if candidate <= version]
    if not versions:
        return None
    layer = Layer(tensors, (Operator("Expand", "", versions[-1], (), (0, 1), (2,)),), (2,))
    return Repeated(layer, (f"{name} once", f"{name} shape"), f"{name} repeated")
