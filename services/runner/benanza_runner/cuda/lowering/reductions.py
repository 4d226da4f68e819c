"""Reductions over axes."""

from collections.abc import Callable, Mapping

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Reduction
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.constants import whole_constants
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer

Lower = Callable[[Layer, Mapping[int, Array]], tuple[Call, dict[str, Array]]]

OF_INTEGERS = frozenset(("Max", "Min", "Prod", "Sum"))


def _reduction(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    """Axes are an attribute or an input, by version. Without any, all axes are reduced."""
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]]
    kind = operator.op_type.removeprefix("Reduce")
    if element(x.dtype) and kind not in OF_INTEGERS:
        raise UnsupportedError(f"{operator.op_type} of {x.dtype} is not supported yet")
    rank = len(x.shape)
    given = whole_constants(layer, values, 1) or operator.integers("axes", ())
    if not given and operator.integer("noop_with_empty_axes", 0):
        raise UnsupportedError(f"{operator.op_type} over no axes is a copy")
    axes = tuple(sorted({axis % rank for axis in given})) or tuple(range(rank))
    output = layer.tensors[operator.outputs[0]].shape
    call = Reduction(kind, x.shape, axes, output, element(x.dtype))
    return call, {"input": values[operator.inputs[0]]}


REDUCTIONS: dict[str, Lower] = {
    f"Reduce{kind}": _reduction
    for kind in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
}
