"""The operands of kernels whose weights lie in fragments."""

from functools import partial
from typing import Any

from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.kernels.packed.fragments import by_unit, zeros_by_unit
from benanza_runner.cuda.workspace import Workspace


def fixed(workspace: Workspace, call: PackedProduct) -> bool:
    """Whether the model fixes all that is laid out, and these are integers."""
    return call.on_integers and workspace.fixed.issuperset(
        {"b", "scales", *(["zeros"] if call.zeros else [])}
    )


def fragment_operands(
    workspace: Workspace, call: PackedProduct, weights: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Rows, these weights, their scales and zero points by unit, and what is added. What a call
    doesn't have is another operand.
    """

    def scales_by_unit(arrays: Any, scales: Any) -> Any:
        return by_unit(arrays, scales.reshape(call.n, call.blocks), call.block)

    a = workspace.operand("a").array
    scales = workspace.laid_out("scales", scales_by_unit).array
    zeros = scales
    if call.zeros:
        whole = partial(
            zeros_by_unit, n=call.n, blocks=call.blocks, block=call.block, bits=call.bits
        )
        zeros = workspace.laid_out("zeros", whole).array
    return a, weights, scales, zeros, workspace.operand("bias").array if call.bias else a
