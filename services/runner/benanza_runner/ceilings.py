"""The rates that a system reaches: bandwidth of the caches and of the memory, calls one after the
other, and arithmetic of matrix products.

No layer may be faster than these rates allow, or the speed of light would be no limit. So the
fastest sample counts, and bandwidth is that of the fastest cache that a layer can be read from. On
a GPU calls run as in a CUDA graph, so that their rate is that of launches within one.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from benanza_runner.runtime import Runtime
from benanza_runner.variants import warm
from benanza_schemas.element_types import PRECISIONS, size_bytes
from benanza_schemas.events import Ceiling, CeilingName
from benanza_schemas.identity import canonical
from benanza_schemas.layer import Layer, Operator, Precision, Tensor
from benanza_schemas.times import time_us

MICROBENCHMARKS = "4"
"""The version of the microbenchmarks. Raise it by one when ceilings come out higher without the
system changing: then those that are known are measured again.
"""

STREAM_ELEMENTS = (1, *(1 << power for power in range(12, 27)))
"""Sizes of the vectors: one element, which takes no longer than it takes to start a call, and from
what the first cache of a core holds on.

On a processor with 2 MB of second cache, a Relu of 0.8 MB ran 1.6 times as fast as the best of the
larger ones. On an H200, a Sum of a size between those in steps of four ran 1.07 times as fast as
the best of them.
"""

MATRIX_SIZES = tuple(1 << power for power in range(8, 14))
ENOUGH_US = 10_000.0
"""Microbenchmarks grow up to the first that takes so long: by then all cores are busy."""

ROUNDS = 3
"""Another program may hold a processor during one round; it seldom does during all."""

NEAR = 0.5
"""A microbenchmark that reaches less of the highest rate isn't run in the next round."""

BEYOND_CACHE = 4
"""What moves so many times the bytes of the last cache finds next to nothing there when it is
called again.
"""


class Microbenchmark(NamedTuple):
    """A layer, and what it does of each kind: bytes, operations, calls."""

    layer: Layer
    amounts: Mapping[CeilingName, float]


def measured_ceilings(
    runtime: Runtime, precision: Precision, rounds: int = ROUNDS
) -> tuple[Ceiling, ...]:
    """The highest rate of each kind that a microbenchmark reached at this precision.

    Only times with warm caches count. The others are differences of two times, and may come out
    too small. The rate of the memory is lacking where the size of the last cache isn't known.
    Raises what `runtime.measure` raises.
    """
    cache_bytes = runtime.cache_bytes()
    highest: dict[CeilingName, Ceiling] = {}
    for microbenchmarks in (tuple(streams(precision, cache_bytes)), tuple(products(precision))):
        for _ in range(rounds):
            reached = tuple(_one_round(runtime, precision, microbenchmarks))
            for _, ceiling in reached:
                if ceiling.name not in highest or ceiling.value > highest[ceiling.name].value:
                    highest[ceiling.name] = ceiling
            near = {
                microbenchmark.layer
                for microbenchmark, ceiling in reached
                if ceiling.value >= NEAR * highest[ceiling.name].value
            }
            # The last one has ended the round, and ends the next.
            far = {microbenchmark.layer for microbenchmark, _ in reached[:-1]} - near
            far -= {microbenchmark.layer for microbenchmark, _ in reached[-1:]}
            microbenchmarks = tuple(each for each in microbenchmarks if each.layer not in far)
    return tuple(highest.values())


def _one_round(
    runtime: Runtime, precision: Precision, microbenchmarks: Iterable[Microbenchmark]
) -> Iterator[tuple[Microbenchmark, Ceiling]]:
    for microbenchmark in microbenchmarks:
        fastest_us = math.inf
        for variant in warm(runtime.measure(microbenchmark.layer, precision).variants):
            if not variant.minimum_us:
                continue
            fastest_us = min(fastest_us, variant.minimum_us)
            median_us, iqr_us = time_us(variant)
            for name, amount in microbenchmark.amounts.items():
                value = amount / (variant.minimum_us * 1e-6)
                spread = value * iqr_us / median_us
                yield microbenchmark, Ceiling(name, precision, value, spread)
        if ENOUGH_US <= fastest_us < math.inf:
            return


def streams(precision: Precision, cache_bytes: int = 0) -> Iterator[Microbenchmark]:
    """Layers that only move bytes: each input is read once, the output written once. `cache_bytes`
    is the size of the last cache, zero if it isn't known.

    Operators are of the opset that brought them bfloat16, here as below.
    """
    for elements in STREAM_ELEMENTS:
        vector = Tensor(PRECISIONS[precision].element_type, (elements,))
        for op_type, inputs in (("Relu", (vector,)), ("Add", (vector, vector))):
            layer = _layer(op_type, 14, inputs, vector)
            moved = (len(inputs) + 1) * size_bytes(vector.dtype, elements)
            amounts: dict[CeilingName, float] = {"bandwidth": moved, "launches": 1}
            if 0 < BEYOND_CACHE * cache_bytes <= moved:
                amounts["memory"] = moved
            yield Microbenchmark(layer, amounts)


def products(precision: Precision) -> Iterator[Microbenchmark]:
    """Layers that only multiply and add, which counts as two operations."""
    for size in MATRIX_SIZES:
        matrix = Tensor(PRECISIONS[precision].element_type, (size, size))
        weights = Tensor(PRECISIONS[precision].element_type, (size, size), constant=True)
        layer = _layer("MatMul", 13, (matrix, weights), matrix)
        yield Microbenchmark(layer, {"flops": 2 * size**3})


def _layer(op_type: str, version: int, inputs: tuple[Tensor, ...], output: Tensor) -> Layer:
    end = len(inputs)
    operator = Operator(op_type, "", version, (), tuple(range(end)), (end,))
    return canonical(Layer((*inputs, output), (operator,), (end,)))
