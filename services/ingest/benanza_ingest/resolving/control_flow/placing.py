"""Puts the nodes of bodies in a graph, as many as its limits allow."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from onnx import GraphProto

from benanza_ingest.reading.parse import MAX_INLINED_BYTES
from benanza_ingest.resolving.control_flow.bodies import with_own_names
from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.graph import Node
from benanza_ingest.resolving.sequences import Sequences
from benanza_ingest.resolving.types import Types

MAX_NESTING = 64
"""Bodies that lie deeper in others are not put in place."""


@dataclass
class BodyPlace:
    """Where bodies are put: a graph that is being resolved.

    `nodes` are those that it has so far. `put` adds the weights and nodes of a body, which lies so
    deep in others, and returns the names of its results. `left_nodes` and `left_bytes` is what
    bodies may still add.
    """

    types: Types
    constants: Constants
    sequences: Sequences
    nodes: list[Node]
    opsets: dict[str, int]
    put: Callable[[GraphProto, int], list[str]]
    left_nodes: int
    left_bytes: int = MAX_INLINED_BYTES

    def body(
        self, body: GraphProto, prefix: str, given: Mapping[str, str], depth: int
    ) -> list[str] | None:
        """Puts a body in place as `with_own_names` has it. Returns the names of its results; None,
        and does nothing, if it lies too deep in others or is more than may be added.
        """
        nodes, size = len(body.node), body.ByteSize()
        if depth > MAX_NESTING or nodes > self.left_nodes or size > self.left_bytes:
            return None
        self.left_nodes -= nodes
        self.left_bytes -= size
        return self.put(with_own_names(body, prefix, given), depth + 1)

    def results(self, names: Sequence[str]) -> list[str]:
        """These values and the tensors in those of them that are sequences."""
        return [*names, *self.sequences.parts(tuple(names))]
