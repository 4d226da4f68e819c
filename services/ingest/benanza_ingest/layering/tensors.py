"""The tensors of a graph, as layers describe them, by number."""

from onnx import numpy_helper

from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import check_elements
from benanza_ingest.resolving.fold import Array
from benanza_ingest.resolving.graph import Graph
from benanza_ingest.resolving.operators import DECIDING_ELEMENTS
from benanza_ingest.resolving.types import TensorType
from benanza_schemas.layer import Tensor

NONE = 0
"""The number for a value that is left out, or whose type isn't known well enough."""


class Tensors:
    """Numbers the tensors: equal ones get the same number, by which layers are compared."""

    def __init__(self, graph: Graph, limits: Limits) -> None:
        self._types = graph.types
        self._constants = graph.constants
        self._limits = limits
        self._tensors = [Tensor("", ())]
        self._by_key: dict[tuple[TensorType | None, bool, bytes | None], int] = {}
        self._by_name = {"": NONE}
        self._by_name_with_value: dict[str, int] = {}

    def __getitem__(self, number: int) -> Tensor:
        return self._tensors[number]

    def numbers(self, names: tuple[str, ...]) -> list[int]:
        """The numbers of the values with these names, constants by shape and type alone.

        Raises `ModelError` for a tensor that is larger than the limits allow.
        """
        known = self._by_name
        for name in names:
            if name not in known:
                known[name] = self._add(name)
        return [known[name] for name in names]

    def with_value(self, name: str) -> int:
        """The number of a value that decides what its reader does; a constant's elements count."""
        if name not in self._by_name_with_value:
            self._by_name_with_value[name] = self._add_with_value(name)
        return self._by_name_with_value[name]

    def _add(self, name: str) -> int:
        known = self._types.get(name)
        if known is None or not known.resolved:
            known = self._constants.type_of(name)
        return self._number(name, (known, name in self._constants, None))

    def _add_with_value(self, name: str) -> int:
        (number,) = self.numbers((name,))
        value = self._constants.value(name) if name in self._constants else None
        if number == NONE or value is None or value.size > DECIDING_ELEMENTS:
            return number
        return self._number(name, (self._types[name], True, raw_data(value)))

    def _number(self, name: str, key: tuple[TensorType | None, bool, bytes | None]) -> int:
        number = self._by_key.get(key)
        if number is None:
            number = self._by_key[key] = self._describe(name, *key)
        return number

    def _describe(
        self, name: str, known: TensorType | None, constant: bool, value: bytes | None
    ) -> int:
        if known is None or not known.resolved or known.dtype == "string":
            return NONE
        check_elements(name, known.dims(), self._limits)
        self._tensors.append(Tensor(known.dtype, known.dims(), constant, value))
        return len(self._tensors) - 1


def raw_data(value: Array) -> bytes:
    """The elements as `TensorProto.raw_data` lays them out."""
    if value.dtype.isbuiltin == 1:  # one of numpy's own: none is packed
        return value.astype(value.dtype.newbyteorder("<")).tobytes()
    return bytes(numpy_helper.from_array(value).raw_data)
