"""What a kernel reads and writes, as the referee lays it out and finds it again."""

import time

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.submitted.disturbance import Disturbance
from benanza_runner.submitted.draws import Draws, InputKind
from benanza_runner.submitted.memory import SharedMemory
from benanza_runner.submitted.outcome import RefusedError
from benanza_runner.submitted.signature import Signature
from benanza_runner.submitted.verdict import poison, why_written, why_wrong
from benanza_schemas.layer import Precision

LATE_S = 0.1
"""So long after a window it is looked whether a wrong result has become right since."""


class KernelOperands:
    """The arrays of a signature in memory that is shared, and what they should hold, which is where
    no kernel can write.
    """

    def __init__(
        self, draws: Draws, signature: Signature, precision: Precision, memory: SharedMemory
    ) -> None:
        self._draws = draws
        self._signature = signature
        self._precision: Precision = precision
        self._memory = memory
        self._weights: list[Array] = []
        self._inputs: list[Array] = []
        self._pools: list[Array] = []
        self._kept: list[Array] = []
        """The outputs as they were at the last answer."""

    def reweigh(self) -> None:
        """Draws other weights."""
        self._weights = self._draws.weights()
        self._draws.use(self._weights)
        for array, value in zip(self._shared(constant=True), self._weights, strict=True):
            array[...] = value

    def renew(self, kind: InputKind) -> None:
        """Draws other inputs, and what they are changed with. Outputs hold no numbers then."""
        self._pools = self._draws.pools(kind)
        operands = self._signature.changing
        self._inputs = [
            np.resize(pool, operand.shape)
            for operand, pool in zip(operands, self._pools, strict=True)
        ]
        for array, value in zip(self._shared(constant=False), self._inputs, strict=True):
            array[...] = value
        for shared, pool in zip(self._memory.pools, self._pools, strict=True):
            if shared is not None:
                shared[...] = pool
        for output in (*self._memory.outputs, *self._memory.copies):
            poison(output)

    def change(self, seed: int, times: int) -> None:
        """Makes the changes that the worker made."""
        pools = [
            None if operand.fixed else pool
            for operand, pool in zip(self._signature.changing, self._pools, strict=True)
        ]
        Disturbance(self._inputs, pools, seed).skip(times)

    def keep(self) -> None:
        """Takes the outputs to where no thread of the worker can write them later."""
        self._kept = [copy.copy() for copy in self._memory.copies]

    def check(self) -> None:
        """Raises `RefusedError` unless the last call left right results, and its inputs alone."""
        for constant, values in ((False, self._inputs), (True, self._weights)):
            read = [each for each in self._signature.inputs if each.constant == constant]
            if reason := why_written(read, values, self._shared(constant=constant)):
                raise RefusedError(reason)
        operands = self._signature.outputs
        expected = self._draws.expected(self._inputs)
        if reason := why_wrong(operands, self._kept, expected, self._precision):
            time.sleep(LATE_S)
            if not why_wrong(operands, self._memory.outputs, expected, self._precision):
                reason = "it returned before its work was done"
            raise RefusedError(reason)

    def _shared(self, *, constant: bool) -> list[Array]:
        pairs = zip(self._signature.inputs, self._memory.inputs, strict=True)
        return [array for operand, array in pairs if operand.constant == constant]
