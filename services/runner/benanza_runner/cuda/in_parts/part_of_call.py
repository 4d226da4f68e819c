"""The workspace of a part of a call, which runs behind another part or before one."""

from collections.abc import Mapping

from benanza_runner.cuda.calls import Call, Shape
from benanza_runner.cuda.device_tensor import DeviceTensor
from benanza_runner.cuda.layouts import Order
from benanza_runner.cuda.lowering.lower import Lowered
from benanza_runner.cuda.workspace import Workspace


class PartOfCall(Workspace):
    """The workspace of the whole call for one that is a part of it.

    The part reads what was `made` before it instead of operands of these names, and writes
    `result`; without one, it writes the result of the whole call that has this `number`.
    """

    def __init__(
        self,
        whole: Workspace,
        call: Call,
        made: Mapping[str, DeviceTensor],
        result: DeviceTensor | None = None,
        number: int = 0,
    ) -> None:
        super().__init__(Lowered(call, whole.operands, whole.fixed), whole.precision, whole.memory)
        self._whole = whole
        self._made = made
        self._result = result
        self._number = number

    def operand(self, name: str, order: Order | None = None) -> DeviceTensor:
        """One of the tensors that were made, as it lies, or an operand of the whole call."""
        return self._made[name] if name in self._made else self._whole.operand(name, order)

    def exact(self, name: str) -> DeviceTensor:
        """An operand of the whole call, as float32."""
        return self._whole.exact(name)

    def padded(self, name: str, shape: Shape, order: Order, length: int) -> DeviceTensor:
        """An operand of the whole call, extended."""
        return self._whole.padded(name, shape, order, length)

    def result(
        self, shape: Shape, order: Order | None = None, element: str = "", number: int = 0
    ) -> DeviceTensor:
        """What the part writes."""
        if self._result is not None:
            return self._result
        return self._whole.result(shape, order, element, self._number)

    def scratch(self, size: int) -> int:
        """Scratch memory of the whole call: its parts don't run at the same time."""
        return self._whole.scratch(size)
