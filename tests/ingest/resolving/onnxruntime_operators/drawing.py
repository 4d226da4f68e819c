"""What random nodes of ONNX Runtime's own operators are drawn of."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Random = random.Random


class Case(NamedTuple):
    """A node's inputs, None for one that is left out, its attributes, and how many results it is
    asked for. `constants` are the positions of inputs that decide a shape, `left_out` those of
    results that it isn't asked for.
    """

    inputs: Sequence[Array | None]
    attributes: Mapping[str, Any] = {}
    outputs: int = 1
    constants: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()


Make = Callable[[Random], Case]


def floats(*shape: int) -> Array:
    return np.linspace(0.1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def bytes_(*shape: int, dtype: type = np.uint8) -> Array:
    return (np.arange(np.prod(shape)) % 7 + 1).astype(dtype).reshape(shape)


SCALE = np.array(0.5, np.float32)
ZERO = np.array(3, np.uint8)


def sizes(r: Random, rank: int) -> tuple[int, ...]:
    return tuple(r.randint(1, 6) for _ in range(rank))


def sparse_of(r: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that is broadcast to this one."""
    return tuple(r.choice((1, size)) for size in shape)[r.randint(0, len(shape)) :]


def like(count: int = 1, *, rank: int | None = None) -> Make:
    return lambda r: Case([floats(*sizes(r, rank or r.randint(1, 5)))] * count)
