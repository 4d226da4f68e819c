"""The rates that a system reaches: bandwidth of the caches, and arithmetic of matrix products.

No layer may be faster than these rates allow, or the roofline would be no bound. So the fastest
sample counts, and bandwidth is that of the fastest cache that a layer can be read from.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benanza_runner.runtime import Runtime
from benanza_runner.variants import warm
from benanza_schemas.element_types import PRECISIONS, size_bytes
from benanza_schemas.events import Ceiling, CeilingName
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer, Operator, Precision, Tensor
from benanza_schemas.times import time_us

MICROBENCHMARKS = "3"
"""The version of the microbenchmarks. Raise it by one when ceilings come out higher without the
system changing: then those that are known are measured again.
"""

STREAM_ELEMENTS = tuple(1 << power for power in range(12, 27))
"""Sizes of the vectors, from what the first cache of a core holds on.

On a processor with 2 MB of second cache, a Relu of 0.8 MB ran 1.6 times as fast as the best of the
larger ones. On an H200, a Sum of a size between those in steps of four ran 1.07 times as fast as
the best of them.
"""

MATRIX_SIZES = tuple(1 << power for power in range(8, 14))
ENOUGH_US = 10_000.0
"""Microbenchmarks grow up to the first that takes so long: by then all cores are busy."""

ROUNDS = 3
"""Another program may hold a processor during one round; it seldom does during all."""


class Microbenchmark(NamedTuple):
    """A layer, and the `amount` of bytes that it moves or of operations that it does."""

    layer: Layer
    amount: int


def measured_ceilings(
    runtime: Runtime, precision: Precision, rounds: int = ROUNDS
) -> tuple[Ceiling, ...]:
    """The highest rate of each kind that a microbenchmark reached at this precision.

    Only times with warm caches count. The others are differences of two times, and may come out
    too small. Raises what `runtime.measure` raises.
    """
    ceilings = []
    of_name: dict[CeilingName, Callable[[Precision], Iterator[Microbenchmark]]]
    of_name = {"bandwidth": streams, "flops": products}
    for name, microbenchmarks in of_name.items():
        reached = [
            ceiling
            for _ in range(rounds)
            for ceiling in _one_round(runtime, name, precision, microbenchmarks)
        ]
        if reached:
            ceilings.append(max(reached, key=lambda ceiling: ceiling.value))
    return tuple(ceilings)


def _one_round(
    runtime: Runtime,
    name: CeilingName,
    precision: Precision,
    microbenchmarks: Callable[[Precision], Iterator[Microbenchmark]],
) -> Iterator[Ceiling]:
    for microbenchmark in microbenchmarks(precision):
        fastest_us = math.inf
        for variant in warm(runtime.measure(microbenchmark.layer, precision).variants):
            if not variant.minimum_us:
                continue
            fastest_us = min(fastest_us, variant.minimum_us)
            value = microbenchmark.amount / (variant.minimum_us * 1e-6)
            median_us, iqr_us = time_us(variant)
            spread = value * iqr_us / median_us
            yield Ceiling(name=name, precision=precision, value=value, iqr=spread)
        if ENOUGH_US <= fastest_us < math.inf:
            return


def streams(precision: Precision) -> Iterator[Microbenchmark]:
    """Layers that only move bytes: each input is read once, the output written once.

    Operators are of the opset that brought them bfloat16, here as below.
    """
    for elements in STREAM_ELEMENTS:
        vector = Tensor(PRECISIONS[precision].element_type, (elements,))
        for op_type, inputs in (("Relu", (vector,)), ("Add", (vector, vector))):
            layer = _layer(op_type, 14, inputs, vector)
            amount = (len(inputs) + 1) * size_bytes(vector.dtype, elements)
            yield Microbenchmark(layer, amount)


def products(precision: Precision) -> Iterator[Microbenchmark]:
    """Layers that only multiply and add, which counts as two operations."""
    for size in MATRIX_SIZES:
        matrix = Tensor(PRECISIONS[precision].element_type, (size, size))
        weights = Tensor(PRECISIONS[precision].element_type, (size, size), constant=True)
        yield Microbenchmark(_layer("MatMul", 13, (matrix, weights), matrix), 2 * size**3)


def _layer(op_type: str, version: int, inputs: tuple[Tensor, ...], output: Tensor) -> Layer:
    end = len(inputs)
    operator = Operator(op_type, "", version, (), tuple(range(end)), (end,))
    return canonical(Layer((*inputs, output), (operator,), (end,)))
