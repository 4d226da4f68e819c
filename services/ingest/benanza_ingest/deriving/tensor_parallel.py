"""Splits a graph over GPUs, each of which has a part of every weight."""

from benanza_ingest.errors import ModelError
from benanza_ingest.resolving.graph import Graph


def split_over_gpus(graph: Graph, ranks: int) -> list[str]:
    """Makes the graph that of one of so many GPUs; says what stays whole, a line each.

    Raises `ModelError` if nothing can be split.
    """
    raise ModelError(f"can't split a model over {ranks} GPUs yet; leave out --tensor-parallel")
