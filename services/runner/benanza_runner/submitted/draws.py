"""The inputs that a submitted kernel gets, which nobody can know before, and what they should give.

The referee draws them, and computes results, in its own process.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

import ml_dtypes
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.reference import CpuLayer
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_runner.onnx_layers.random_values import fresh_value, is_ruled, random_value
from benanza_runner.submitted.disturbance import CHANGED_BITS, pool_size
from benanza_runner.submitted.signature import KernelOperand, Signature
from benanza_runner.submitted.verdict import relative_error
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Layer, Precision

WIDTHS = (1 / 64, 8.0, 64.0)
"""Inputs are tried so many times as wide, too. Operators with limits, such as Clip and HardSwish,
and those that normalise, such as LRN, do something else there than near one.
"""

LEAST_LIMIT, MOST_LIMIT = 1.0, 1e6
"""A number of the layer between these may be a limit: inputs twice as wide are on both sides."""

MOST_LIMITS = 2

SHARE_OF_TOLERANCE = 0.25
"""Of what is right, rounding the inputs takes at most so much: a right kernel rounds, too."""

_TUPLES_APART = {"Scatter": False, "ScatterElements": False, "ScatterND": True}
"""Operators whose second input has indices of which no two are the same, and whether these are
tuples along the last axis.
"""


SPECIAL = (0.0, 1.0, -1.0, np.nan, np.inf, -np.inf)
"""What IsNaN, Equal and the like tell from others. It has to stay as it is between calls."""


class InputKind(NamedTuple):
    """What inputs hold: each float that no rule keeps in a range is one of so many `widths` times
    as large as usually. Where results would be no numbers, all are positive. If it is `special`,
    numbers of all types are some of `SPECIAL`.
    """

    widths: tuple[float, ...]
    positive: bool = False
    special: bool = False


PLAIN = InputKind((1.0,))


class Draws:
    """Draws values for a layer at a precision, and computes its results with one thread.

    `layer` is in the model's own types, `signature` in those of the precision. Of all `kinds` of
    inputs the first is the usual one, and the last has all widths in one array. Kinds of which
    results aren't finite, or depend on how inputs are rounded, are left out. `special_kinds` has
    one where the usual results say nothing, as those of an IsNaN.
    """

    def __init__(
        self,
        layer: Layer,
        signature: Signature,
        precision: Precision,
        random: np.random.Generator,
    ) -> None:
        self._layer = layer
        self._signature = signature
        self._precision: Precision = precision
        self._random = random
        self._cpu: CpuLayer | None = None
        self.use(self.weights())
        results = self.expected(self.inputs())
        flat = [array.reshape(-1) for array in results]
        says_nothing = all(not _is_float(array) and (array == array[:1]).all() for array in flat)
        self.special_kinds = (InputKind(PLAIN.widths, special=True),) if says_nothing else ()
        usual = PLAIN._replace(positive=any(map(_has_nan, results)))
        kinds = [usual, *self._usable((width,) for width in (*WIDTHS, *_limits(layer)))]
        every = tuple(kind.widths[0] for kind in kinds)
        if len(every) > 1:
            kinds += self._usable([every])
        self.kinds: tuple[InputKind, ...] = tuple(kinds)

    def weights(self) -> list[Array]:
        """New weights, in the order of the signature's."""
        return [
            self._fresh(operand, prod(operand.shape), PLAIN).reshape(operand.shape)
            for operand in self._signature.weights
        ]

    def pools(self, kind: InputKind) -> list[Array]:
        """What the inputs that are no weights are changed with, in their order; of one that is
        fixed, its elements.
        """
        return [
            self._fresh(
                operand,
                prod(operand.shape) if operand.fixed else pool_size(prod(operand.shape)),
                kind,
            )
            for operand in self._signature.changing
        ]

    def inputs(self, kind: InputKind = PLAIN) -> list[Array]:
        """New values of these inputs."""
        return [
            self._fresh(operand, prod(operand.shape), kind).reshape(operand.shape)
            for operand in self._signature.changing
        ]

    def use(self, weights: list[Array]) -> None:
        """Computes with these weights from now on. Raises whatever ONNX Runtime raises."""
        given = self._by_index(self._signature.weights, weights)
        self._cpu = CpuLayer(self._layer, given, self._precision, 1)

    def expected(self, inputs: list[Array]) -> list[Array]:
        """The layer's results for these inputs. Raises whatever ONNX Runtime raises."""
        assert self._cpu is not None, "weights come first"
        return self._cpu.results(self._by_index(self._signature.changing, inputs))

    def _usable(self, widths: Iterable[tuple[float, ...]]) -> Iterator[InputKind]:
        if not any(self._widens(operand) for operand in self._signature.changing):
            return
        for each in widths:
            kinds = (InputKind(each), InputKind(each, positive=True))
            yield from [kind for kind in kinds if self._is_usable(kind)][:1]

    def _is_usable(self, kind: InputKind) -> bool:
        """Whether results are finite, and about the same where inputs were rounded once more."""
        with np.errstate(over="ignore", invalid="ignore"):
            inputs = self.inputs(kind)
            results = self.expected(inputs)
            if not all(_is_finite(array) for array in (*inputs, *results)):
                return False
            near = self.expected([self._near(array) for array in inputs])
            most = SHARE_OF_TOLERANCE * PRECISIONS[self._precision].tolerance
            pairs = zip(near, results, strict=True)
            return all(relative_error(*pair) <= most for pair in pairs)

    def _near(self, array: Array) -> Array:
        if not _is_float(array):
            return array
        last = ml_dtypes.finfo(array.dtype).eps / 2  # type: ignore[no-untyped-call]  # as it stands
        wide = array.astype(np.float64)
        return np.asarray(wide * (1 + float(last) * self._random.uniform(-1, 1, array.shape)))

    def _fresh(self, operand: KernelOperand, size: int, kind: InputKind) -> Array:
        drawn = fresh_value(self._layer, operand.index, self._precision, self._random, size)
        if drawn is None:
            drawn = self._ruled(operand)
        if self._widens(operand) and kind.widths != PLAIN.widths:
            drawn = drawn * self._random.choice(np.array(kind.widths, np.float32), size)
        if kind.special and not operand.fixed and not is_ruled(self._layer, operand.index):
            some = SPECIAL if _is_float(drawn) else SPECIAL[:2]
            drawn = self._random.choice(np.array(some), size)
        if kind.positive and _is_float(drawn):
            drawn = np.abs(drawn)
        return drawn.reshape(-1).astype(numpy_dtype(operand.dtype))

    def _ruled(self, operand: KernelOperand) -> Array:
        """The elements that a rule says. Indices of which no two are the same change places."""
        value = random_value(self._layer, operand.index, self._precision)
        for operator in self._layer.operators:
            if operator.op_type in _TUPLES_APART and operator.inputs[1] == operand.index:
                columns = value if _TUPLES_APART[operator.op_type] else value[..., None]
                value = self._moved(columns).reshape(value.shape)
        return value

    def _moved(self, tuples: Array) -> Array:
        columns = []
        for column in np.moveaxis(tuples, -1, 0):
            places = self._random.permutation(int(column.max(initial=0)) + 1)
            columns.append(places[column])
        return np.stack(columns, axis=-1).astype(tuples.dtype)

    def _widens(self, operand: KernelOperand) -> bool:
        ruled = operand.fixed or is_ruled(self._layer, operand.index)
        return not ruled and operand.dtype in CHANGED_BITS

    def _by_index(
        self, operands: Sequence[KernelOperand], arrays: Sequence[Array]
    ) -> Mapping[int, Array]:
        """In the layer's own types."""
        tensors = self._layer.tensors
        return {
            operand.index: array.astype(numpy_dtype(tensors[operand.index].dtype))
            for operand, array in zip(operands, arrays, strict=True)
        }


def _limits(layer: Layer) -> list[float]:
    """Twice the numbers that may be limits of the layer, the least ones."""
    numbers = [
        abs(float(np.frombuffer(tensor.value, numpy_dtype(tensor.dtype))[0]))
        for tensor in layer.tensors
        if tensor.value is not None and tensor.dtype in CHANGED_BITS and prod(tensor.shape) == 1
    ]
    numbers += [
        abs(attribute.value)
        for operator in layer.operators
        for attribute in operator.attributes
        if isinstance(attribute.value, float)
    ]
    limits = {2 * number for number in numbers if LEAST_LIMIT < number < MOST_LIMIT}
    return sorted(limits)[:MOST_LIMITS]


def _is_float(array: Array) -> bool:
    return array.dtype.name in CHANGED_BITS


def _has_nan(array: Array) -> bool:
    return _is_float(array) and bool(np.isnan(array.astype(np.float64)).any())


def _is_finite(array: Array) -> bool:
    return not _is_float(array) or bool(np.isfinite(array.astype(np.float64)).all())
