"""The rates that a system reaches: bandwidth from caches, and matrix products.

No layer may be faster than they say, or the roofline would be no bound. So the fastest sample
counts, and bandwidth is that of the nearest cache that a layer can be read from.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benanza_runner.precision import ELEMENT_TYPE
from benanza_runner.runtime import Runtime
from benanza_schemas.element_types import size_bytes
from benanza_schemas.events import WARM, Ceiling, CeilingName
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer, Operator, Precision, Tensor

YARDSTICKS = "3"
"""Raised by one when ceilings come out higher without the system changing: then those that are
known are measured again.
"""

STREAM_ELEMENTS = tuple(1 << power for power in range(12, 27))
"""From what a core's first cache holds on: on a processor with 2 MB of second cache, a Relu of
0.8 MB ran 1.6 times as fast as the best of those beyond. On an H200, a Sum of a size between those
in steps of four ran 1.07 times as fast as the best of them.
"""

MATRIX_SIZES = tuple(1 << power for power in range(8, 14))
ENOUGH_US = 10_000.0
"""Yardsticks grow, up to the first that takes so long: by then all cores are busy."""

ROUNDS = 3
"""Another program may hold a processor during one round; it seldom does during all."""


class Yardstick(NamedTuple):
    """A layer, and the `amount` of bytes or operations that it does."""

    layer: Layer
    amount: int


def measured_ceilings(
    runtime: Runtime, precision: Precision, rounds: int = ROUNDS
) -> tuple[Ceiling, ...]:
    """The fastest of the yardsticks of each name, at most one `bandwidth` and one `flops`.

    Of times taken again and again: others are differences of two times, and may come out too
    small.
    """
    found = []
    of_name: dict[CeilingName, Callable[[Precision], Iterator[Yardstick]]]
    of_name = {"bandwidth": streams, "flops": products}
    for name, yardsticks in of_name.items():
        reached = [
            ceiling
            for _ in range(rounds)
            for ceiling in _one_round(runtime, name, precision, yardsticks)
        ]
        if reached:
            found.append(max(reached, key=lambda ceiling: ceiling.value))
    return tuple(found)


def _one_round(
    runtime: Runtime,
    name: CeilingName,
    precision: Precision,
    yardsticks: Callable[[Precision], Iterator[Yardstick]],
) -> Iterator[Ceiling]:
    for yardstick in yardsticks(precision):
        fastest_us = math.inf
        for variant in runtime.measure(yardstick.layer, precision).variants:
            if variant.cache != WARM:
                continue
            if not variant.minimum_us or not variant.median_us or variant.iqr_us is None:
                continue
            fastest_us = min(fastest_us, variant.minimum_us)
            value = yardstick.amount / (variant.minimum_us * 1e-6)
            spread = value * variant.iqr_us / variant.median_us
            yield Ceiling(name=name, precision=precision, value=value, iqr=spread)
        if ENOUGH_US <= fastest_us < math.inf:
            return


def streams(precision: Precision) -> Iterator[Yardstick]:
    """Layers that do nothing but move bytes: each input read once, the output written once.

    Operators are of the opset that brought them bfloat16, here as below.
    """
    for elements in STREAM_ELEMENTS:
        vector = Tensor(ELEMENT_TYPE[precision], (elements,))
        for op_type, inputs in (("Relu", (vector,)), ("Add", (vector, vector))):
            layer = _layer(op_type, 14, inputs, vector)
            amount = (len(inputs) + 1) * size_bytes(vector.dtype, elements)
            yield Yardstick(layer, amount)


def products(precision: Precision) -> Iterator[Yardstick]:
    """Layers that do nothing but multiply and add, which counts as two operations."""
    for size in MATRIX_SIZES:
        matrix = Tensor(ELEMENT_TYPE[precision], (size, size))
        weights = Tensor(ELEMENT_TYPE[precision], (size, size), constant=True)
        yield Yardstick(_layer("MatMul", 13, (matrix, weights), matrix), 2 * size**3)


def _layer(op_type: str, version: int, inputs: tuple[Tensor, ...], output: Tensor) -> Layer:
    end = len(inputs)
    operator = Operator(op_type, "", version, (), tuple(range(end)), (end,))
    return canonical(Layer((*inputs, output), (operator,), (end,)))
