"""Makes of a resolved graph what is to be derived of it."""

from collections.abc import Mapping
from typing import NamedTuple

from benanza_ingest.deriving.quantise import quantise
from benanza_ingest.deriving.tensor_parallel import split_over_gpus
from benanza_ingest.resolving.graph import Graph
from benanza_schemas.events.derivation import Derivation


class Derived(NamedTuple):
    """A graph, the versions of its operator sets by domain, and what is said of how it was derived,
    a line each.
    """

    graph: Graph
    opsets: dict[str, int]
    notes: tuple[str, ...]


def derived(graph: Graph, derivation: Derivation, opsets: Mapping[str, int]) -> Derived:
    """The graph that is meant, which is this one, changed. First it is split, and then what one GPU
    runs is quantised. Raises `ModelError` for a model that can't be derived so.
    """
    notes: list[str] = []
    if derivation.tensor_parallel > 1:
        notes += split_over_gpus(graph, opsets, derivation.tensor_parallel).notes
    if derivation.quantised:
        notes += quantise(graph, derivation.quantised)
    # Operators of ONNX Runtime may be new to the model.
    known = {"com.microsoft": 1, **opsets} if derivation.causes() else dict(opsets)
    return Derived(graph, known, tuple(notes))
