"""Weights of four bits in the order in which threads of Tensor Cores want them.

Weights that the model fixes are laid out once, before anything is timed, as other libraries'
kernels for such weights have it. A unit is 16 rows of 64 weights: each of the 32 threads of a warp
has 16 bytes of it, which lie side by side. A thread's word is its part of the first factor of
`mma.m16n8k16`, in the lowest bits of its halves after shifts by 0, 4, 8 and 12. Which 16 of 64
elements are multiplied at once is chosen so that a thread's eight elements of 32 of the other
factor lie side by side, too.

Source: NVIDIA's PTX ISA, which has the layouts of the fragments of `mma.m16n8k16`.
"""

from typing import Any

ROWS_OF_A_UNIT = 16

WEIGHTS_OF_A_UNIT = 64
"""In each of its rows."""

_BITS = 4


def weights_in_fragments(arrays: Any, b: Any, n: int) -> Any:
    """Packed rows as units: [units of rows, units of a row, 32 threads, 16 bytes].

    `arrays` is the module of `b`, NumPy or CuPy. Rows and weights that are missing are zeros.
    """
    numbers = _numbers(arrays, b.reshape(n, -1))
    numbers = _padded(arrays, numbers, ROWS_OF_A_UNIT, WEIGHTS_OF_A_UNIT)
    # Of rows: units, halves, threads. Of weights: units, halves, threads, words, halves of a
    # fragment, and pairs.
    split = numbers.reshape(len(numbers) // 16, 2, 8, -1, 2, 4, 2, 2, 2)
    ordered = split.transpose(0, 3, 2, 5, 4, 6, 8, 7, 1)
    units = arrays.ascontiguousarray(ordered).reshape(len(numbers) // 16, -1, 32, 16, 2)
    return units[..., 0] | units[..., 1] << _BITS


def weights_in_turn(arrays: Any, b: Any, n: int, bits: int) -> Any:
    """As `weights_in_fragments`, but elements that are multiplied at once follow each other, so
    that the other factor's lie in shared memory as they are. Of weights of eight bits a unit is
    twice as large, and each half has 16 bytes for each thread: two words for each 16 weights, each
    with a pair of the upper and of the lower row.
    """
    numbers = _unpacked(arrays, b.reshape(n, -1), bits)
    numbers = _padded(arrays, numbers, ROWS_OF_A_UNIT, WEIGHTS_OF_A_UNIT)
    if bits != _BITS:
        split = numbers.reshape(len(numbers) // 16, 2, 8, -1, 2, 2, 2, 4, 2)
        ordered = arrays.ascontiguousarray(split.transpose(0, 3, 4, 2, 7, 5, 6, 1, 8))
        return ordered.reshape(len(numbers) // 16, -1, 32, 16)
    # Of rows: units, halves, threads. Of weights: units, words, halves of a fragment, threads, and
    # pairs.
    split = numbers.reshape(len(numbers) // 16, 2, 8, -1, 4, 2, 4, 2)
    ordered = split.transpose(0, 3, 2, 6, 4, 7, 5, 1)
    units = arrays.ascontiguousarray(ordered).reshape(len(numbers) // 16, -1, 32, 16, 2)
    return units[..., 0] | units[..., 1] << _BITS


def by_unit(arrays: Any, values: Any, block: int) -> Any:
    """A value of each block of a row, so [rows, blocks], as units of 16 rows find them.

    The result has [units of rows, units of a row or blocks, whichever are fewer, 8 threads, blocks
    of a unit, 2 rows]. What is missing is zeros.
    """
    blocks = max(1, WEIGHTS_OF_A_UNIT // block)
    values = _padded(arrays, values, ROWS_OF_A_UNIT, blocks)
    split = values.reshape(len(values) // 16, 2, 8, -1, blocks)
    return arrays.ascontiguousarray(split.transpose(0, 3, 2, 4, 1))


def zeros_by_unit(
    arrays: Any, zeros: Any, n: int, blocks: int, block: int, bits: int = _BITS
) -> Any:
    """Packed zero points, a byte for each: as `by_unit` has them."""
    return by_unit(arrays, _unpacked(arrays, zeros.reshape(n, -1), bits)[:, :blocks], block)


def _unpacked(arrays: Any, packed: Any, bits: int) -> Any:
    return _numbers(arrays, packed) if bits == _BITS else packed


def _numbers(arrays: Any, packed: Any) -> Any:
    """The numbers in each row of bytes, the lowest bits first."""
    return arrays.stack((packed & 15, packed >> _BITS), axis=-1).reshape(len(packed), -1)


def _padded(arrays: Any, values: Any, rows: int, columns: int) -> Any:
    more = [(0, -length % of) for length, of in zip(values.shape, (rows, columns), strict=True)]
    return arrays.pad(values, more)
