"""Products whose data and weights go through a QuantizeLinear and a DequantizeLinear."""

from typing import Any

import ml_dtypes
import numpy as np
from msgspec.structs import replace

from benanza_ingest.deriving.building import Building, new_node
from benanza_ingest.deriving.products import FloatProduct
from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType, tensor_type
from benanza_schemas.events.derivation import Quantised

_TYPES = {"int8": np.dtype(np.int8), "fp8": np.dtype(ml_dtypes.float8_e4m3fn)}
_NAMES = {"int8": "int8", "fp8": "float8e4m3fn"}

BY_CHANNEL, OF_HALF_FLOATS = 13, 19
"""The opsets from which on DequantizeLinear has an axis, and floats of 16 and 8 bits."""


class EightBits:
    """Puts products behind what dequantises their operands: each value, and each weight by one
    axis, once for all its readers.
    """

    def __init__(self, graph: Graph, to: Quantised) -> None:
        self._types = graph.types
        self._building = Building(graph)
        self._dtype = _NAMES[to]
        self._zero = self._building.number("zero point", np.zeros((), _TYPES[to]))
        self._by_channel = to == "int8"
        self._dequantised: dict[tuple[str, int | None], str] = {}

    def nodes(self, known: FloatProduct) -> list[Node]:
        """The product, behind what is new before it."""
        before: list[Node] = []
        data, weights = (known.data, None), (known.weights, known.axis)
        if data not in self._dequantised:
            before += self._data(known.data)
        if weights not in self._dequantised:
            before.append(self._weights(known.weights, known.axis))
        operands = self._dequantised[data], self._dequantised[weights]
        return [*before, replace(known.node, inputs=(*operands, *known.node.inputs[2:]))]

    def _data(self, name: str) -> list[Node]:
        floats = self._known(name)
        scale = self._building.weight(f"{name}/scale", tensor_type(floats.dtype, ()))
        small = self._building.value(f"{name}/quantised", self._small(floats))
        again = self._building.value(f"{name}/dequantised", floats)
        self._dequantised[name, None] = again
        opset = self._opset(floats)
        parameters = scale, self._zero
        return [
            new_node("QuantizeLinear", f"{name}/Q", (name, *parameters), (small,), opset=opset),
            new_node("DequantizeLinear", f"{name}/DQ", (small, *parameters), (again,), opset=opset),
        ]

    def _weights(self, name: str, axis: int) -> Node:
        floats = self._known(name)
        channels = (floats.dims()[axis],) if self._by_channel else ()
        scale = self._building.weight(f"{name}/scale", tensor_type(floats.dtype, channels))
        small = self._building.weight(f"{name}/quantised", self._small(floats))
        again = self._building.value(f"{name}/dequantised", floats)
        self._dequantised[name, axis] = again
        attributes: dict[str, Any] = {"axis": axis} if self._by_channel else {}
        return new_node(
            "DequantizeLinear",
            f"{name}/DQ",
            (small, scale),
            (again,),
            opset=self._opset(floats),
            **attributes,
        )

    def _known(self, name: str) -> TensorType:
        known = self._types[name]
        assert known is not None, "products are of values whose types are known"
        return known

    def _small(self, floats: TensorType) -> TensorType:
        return tensor_type(self._dtype, floats.dims())

    def _opset(self, floats: TensorType) -> int:
        small = self._by_channel and floats.dtype == "float32"
        return BY_CHANNEL if small else OF_HALF_FLOATS
