"""Finds where the constants of a model contradict the numbers of its open dimensions.

An exporter may leave a dimension open and yet write its size into the shape of a Reshape.
"""

from math import prod

from benanza_ingest.errors import ModelError
from benanza_ingest.resolving.bind import Binding
from benanza_ingest.resolving.declared import Declared
from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.graph import Node
from benanza_ingest.resolving.types import Types


class Contradictions:
    """Looks for contradictions in one graph with open dimensions that were bound."""

    def __init__(
        self, binding: Binding, types: Types, declared: Declared, constants: Constants
    ) -> None:
        self._binding = binding
        self._types = types
        self._declared = declared
        self._constants = constants

    def refuse(self, live: list[Node]) -> None:
        """Raises `ModelError` with the first of these nodes at which a dimension is lost."""
        for node in live:
            lost = ""
            # Without a version of the standard domain no node's inputs were counted.
            if node.op_type == "Reshape" and not node.domain and node.inputs:
                lost = self._wrong_reshape(node)
            if not lost and self._binding.batch > 1:
                lost = self._without_batch(node)
            if lost:
                raise self._error(node, lost)

    def _wrong_reshape(self, node: Node) -> str:
        before, after = (self._dims(name) for name in (node.inputs[0], node.outputs[0]))
        wanted = self._constants.value(node.inputs[1]) if len(node.inputs) > 1 else None
        if before is None or after is None:
            return ""
        stated = [] if wanted is None else [int(size) for size in wanted.ravel()]
        differ = any(s > 0 and s != size for s, size in zip(stated, after, strict=False))
        if differ or prod(before) != prod(after):
            return f"it would make {_shape(before)} elements {_shape(stated or after)}"
        return ""

    def _without_batch(self, node: Node) -> str:
        """What is wrong with a node whose result should hold the batch; nothing if it does."""
        name = next(filter(None, node.outputs))
        known, sizes = self._declared.of(name), self._dims(name)
        if known is None or not known.resolved or sizes is None:
            return ""
        declared = known.dims()
        if self._binding.batch not in declared or len(sizes) != len(declared):
            return ""
        for size, wanted in zip(sizes, declared, strict=True):
            if wanted == self._binding.batch and size % wanted:
                return f"its result is {_shape(sizes)}, where the model declares {_shape(declared)}"
        return ""

    def _dims(self, name: str) -> tuple[int, ...] | None:
        known = self._types.get(name)
        return known.dims() if known is not None and known.resolved else None

    def _error(self, node: Node, what: str) -> ModelError:
        bound = {"batch": self._binding.batch} | self._binding.dims
        numbers = ", ".join(f"{name}={number}" for name, number in bound.items())
        return ModelError(
            f"{numbers} can't be followed through node {node.title()!r} ({node.op_type}): {what}; "
            "export the model anew without fixed sizes there, or at these numbers"
        )


def _shape(sizes: tuple[int, ...] | list[int]) -> str:
    return "×".join(map(str, sizes))
