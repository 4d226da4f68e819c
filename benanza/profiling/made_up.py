"""Inputs, and weights that a file lacks, made up so that what reads them directly takes them."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec
import numpy as np

from benanza_ingest.errors import ModelError
from benanza_ingest.resolving.types import TensorType
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.random_values import is_ruled, random_value
from benanza_schemas.element_types import FLOATS
from benanza_schemas.layer import OMITTED, Layer, Operator, Tensor


class Weights:
    """Makes weights up, no two of them alike: what equal ones compute of one input, a framework may
    compute once.
    """

    def __init__(self) -> None:
        self._made: Counter[tuple[str, tuple[int, ...]]] = Counter()

    def of(self, layer: Layer, index: int) -> Array:
        """Random elements for a tensor of a layer, as layers are measured with. What an operator
        doesn't take every number for stays as it is.
        """
        made = random_value(layer, index)
        if made.dtype.name not in FLOATS or is_ruled(layer, index):
            return made
        key = made.dtype.name, made.shape
        self._made[key] += 1
        return np.roll(made, self._made[key] - 1)


class Readers:
    """Which layers read a value, by its name."""

    def __init__(self) -> None:
        self._places: dict[str, list[tuple[Layer, int]]] = defaultdict(list)
        self._weights = Weights()

    def add(self, layer: Layer, inputs: Sequence[str]) -> None:
        """Adds a layer of one operator, which reads values of these names."""
        for index, name in zip(layer.operators[0].inputs, inputs, strict=False):
            if index != OMITTED:
                self._places[name].append((layer, index))

    def weight(self, name: str, dtype: str, shape: tuple[int, ...]) -> Array:
        """As of `Weights`; zeros of integers that no direct reader rules, which may be indices of
        a table of any size further on. Raises `ModelError` for text.
        """
        _check(name, dtype)
        together = self._together(name, Tensor(dtype, shape, constant=True))
        if dtype in ("int32", "int64") and not is_ruled(together, 0):
            return np.zeros(shape, dtype)
        return self._weights.of(together, 0)

    def input(self, name: str, known: TensorType) -> Array:
        """Random elements where a reader doesn't take all; else random numbers, or, of other types
        than float32, ones: a token, what a mask lets through. The type has to be resolved. Raises
        `ModelError` for text.
        """
        _check(name, known.dtype)
        together = self._together(name, Tensor(known.dtype, known.dims()))
        if is_ruled(together, 0):
            return random_value(together, 0)
        if known.dtype == "float32":
            return np.random.default_rng(0).random(known.dims(), np.float32)
        return np.ones_like(random_value(together, 0))

    def _together(self, name: str, tensor: Tensor) -> Layer:
        """All that reads the value as one layer, whose first tensor the value is."""
        tensors, operators = [tensor], list[Operator]()
        for layer, index in self._places[name]:
            places = {number: number + len(tensors) for number in range(len(layer.tensors))}
            places |= {OMITTED: OMITTED, index: 0}
            tensors += layer.tensors
            operators += [
                msgspec.structs.replace(
                    operator,
                    inputs=tuple(places[number] for number in operator.inputs),
                    outputs=tuple(places[number] for number in operator.outputs),
                )
                for operator in layer.operators
            ]
        return Layer(tuple(tensors), tuple(operators), ())


def _check(name: str, dtype: str) -> None:
    if dtype == "string":
        raise ModelError(f"{name!r} holds text, which can't be made up")
