"""Quantises the products of a graph in floats."""

from benanza_ingest.errors import ModelError
from benanza_ingest.resolving.graph import Graph
from benanza_schemas.events.derivation import Quantised


def quantise(graph: Graph, to: Quantised) -> list[str]:
    """Gives the graph's products weights of this type; says what stays as it is, a line each.

    Raises `ModelError` if nothing can be quantised.
    """
    raise ModelError(f"can't quantise a model to {to} yet; leave out --quantised")
