"""The types that a model declares for its values.

What follows from the inputs counts, since a model that was edited may still declare what it was.
What is declared counts only where nothing follows.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from onnx import GraphProto, ValueInfoProto

from benanza_ingest.resolving.types import TensorType, Types, tensor_type


class Outdated(NamedTuple):
    """A value that is declared with other sizes than it has."""

    name: str
    declared: TensorType
    found: TensorType


class Declared:
    """What one graph declares of values that nodes write."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._declared = Types()

    def take_from(self, graph: GraphProto) -> None:
        """Adds what a graph declares, and takes it away from there. Element types of outputs stay,
        which onnx asks for.
        """
        self.add(graph.value_info)
        self.add(graph.output)
        del graph.value_info[:]
        for value in graph.output:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")

    def add(self, values: Iterable[ValueInfoProto]) -> None:
        """Adds declared types."""
        self._declared.add_values(values)

    def of(self, name: str) -> TensorType | None:
        """What is declared of a value; None if nothing is."""
        return self._declared.get(name)

    def fill(self, name: str) -> None:
        """Completes what is known of a value, where the two agree."""
        declared, known = self._declared.get(name), self._types.get(name)
        if declared is None or (known is not None and known.resolved):
            return
        if known is None or known.shape is None:
            if known is None or known.dtype == declared.dtype:
                self._types[name] = declared
            return
        if declared.shape is None or len(declared.shape) != len(known.shape):
            return
        pairs = list(zip(known.shape, declared.shape, strict=True))
        if all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int)):
            sizes = tuple([a if isinstance(a, int) or b is None else b for a, b in pairs])
            self._types[name] = tensor_type(known.dtype, sizes)

    def outdated(self, names: Iterable[str]) -> Iterator[Outdated]:
        """Those of the values that are declared with other sizes than they have."""
        for name in names:
            declared, known = self._declared.get(name), self._types.get(name)
            if declared and known and declared.shape is not None and known.resolved:
                sizes = known.dims()
                fits = len(sizes) == len(declared.shape) and all(
                    not isinstance(a, int) or a == b
                    for a, b in zip(declared.shape, sizes, strict=True)
                )
                if not fits:
                    yield Outdated(name, declared, known)
