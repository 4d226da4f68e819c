"""The memory of a kernel's arrays: both sides see it, and no array leads to another."""

import mmap

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.submitted.memory import SharedMemory, shared_memory
from benanza_runner.submitted.signature import KernelOperand, Signature

SIGNATURE = Signature(
    (
        KernelOperand("x0", "float32", (3, 5), 0),
        KernelOperand("w1", "float32", (5, 4), 1, constant=True),
    ),
    (KernelOperand("y2", "float32", (3, 4), 2),),
)


def arrays_of(memory: SharedMemory) -> list[Array]:
    """All arrays of the memory."""
    pools = [pool for pool in memory.pools if pool is not None]
    return [*memory.inputs, *memory.outputs, *memory.copies, *pools]


def test_both_sides_see_what_either_writes() -> None:
    memory = shared_memory(SIGNATURE)
    other = SharedMemory(memory.path, SIGNATURE)
    memory.path.unlink()
    for number, array in enumerate(arrays_of(memory), 1):
        array[...] = number
    memory.stop[0], other.begun[0] = 1, 2
    for number, array in enumerate(arrays_of(other), 1):
        assert (array == number).all()
    assert (other.stop[0], memory.begun[0]) == (1, 2)


def test_what_an_array_is_a_part_of_has_nothing_else() -> None:
    memory = shared_memory(SIGNATURE)
    memory.path.unlink()
    for array in arrays_of(memory):
        array[...] = 1
        base: object = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert base is not None
        whole = np.frombuffer(memoryview(base), np.uint8)  # type: ignore[arg-type]
        assert whole.size % mmap.ALLOCATIONGRANULARITY == 0
        assert np.count_nonzero(whole.view(np.float32)) == array.size
