"""The memory that the referee and the worker share: a flag, inputs, outputs and copies of these."""

import mmap
import os
from math import prod
from pathlib import Path
from tempfile import mkstemp

import ml_dtypes  # so that NumPy knows bfloat16
import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.submitted.disturbance import pool_size
from benanza_runner.submitted.signature import KernelOperand, Signature

IN_MEMORY = Path("/dev/shm")  # files there never reach a disk
PAGE = mmap.ALLOCATIONGRANULARITY

assert np.dtype("bfloat16") == ml_dtypes.bfloat16


class SharedMemory:
    """The arrays of a signature in a file that is mapped by both sides, each by itself: from one no
    other can be reached.

    `stop` has one byte, which the referee sets, and `begun` one that the worker sets after each
    call. `copies` are for the outputs as they are when a call returns. `pools` hold what inputs are
    changed with, one for each that is no weight; None for one that stays as it is.
    """

    def __init__(self, path: Path, signature: Signature) -> None:
        self.path = path
        self._end = PAGE
        with path.open("r+b") as opened:
            file = opened.fileno()
            flags = memoryview(mmap.mmap(file, PAGE))
            self.stop, self.begun = flags[:1], flags[1:2]
            self.inputs = [self._array(file, operand) for operand in signature.inputs]
            self.outputs = [self._array(file, operand) for operand in signature.outputs]
            self.copies = [self._array(file, operand) for operand in signature.outputs]
            self.pools = [
                None if operand.fixed else self._array(file, _pool(operand))
                for operand in signature.changing
            ]

    def _array(self, file: int, operand: KernelOperand) -> Array:
        size = _whole_pages(operand)
        begin, self._end = self._end, self._end + size
        mapped = mmap.mmap(file, size, offset=begin)
        flat = np.frombuffer(mapped, np.dtype(operand.dtype), prod(operand.shape))
        return flat.reshape(operand.shape)


def shared_memory(signature: Signature) -> SharedMemory:
    """New memory, of zeros, in a file that the caller unlinks. Raises `OSError` if there is not
    enough.
    """
    operands = [*signature.inputs, *signature.outputs, *signature.outputs]
    operands += [_pool(operand) for operand in signature.changing if not operand.fixed]
    size = PAGE + sum(map(_whole_pages, operands))
    file, name = mkstemp(prefix="benanza-", dir=IN_MEMORY if IN_MEMORY.is_dir() else None)
    try:
        os.posix_fallocate(file, 0, size)
        return SharedMemory(Path(name), signature)
    except OSError:
        Path(name).unlink()
        raise
    finally:
        os.close(file)


def _pool(operand: KernelOperand) -> KernelOperand:
    return KernelOperand(
        operand.name, operand.dtype, (pool_size(prod(operand.shape)),), operand.index
    )


def _whole_pages(operand: KernelOperand) -> int:
    size = np.dtype(operand.dtype).itemsize * max(1, prod(operand.shape))
    return -(-size // PAGE) * PAGE
