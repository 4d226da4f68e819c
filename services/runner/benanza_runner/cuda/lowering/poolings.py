"""Poolings over one to three axes of space."""

from collections.abc import Callable, Mapping

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Pooling
from benanza_runner.cuda.lowering.windows import Windows, in_space, windows
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_schemas.layer import Layer

Lower = Callable[[Layer, Mapping[int, Array]], tuple[Call, dict[str, Array]]]


def _pooling(layer: Layer, values: Mapping[int, Array]) -> tuple[Call, dict[str, Array]]:
    operator = layer.operators[0]
    x = layer.tensors[operator.inputs[0]].shape
    output = layer.tensors[operator.outputs[0]].shape
    if len(x) not in (3, 4, 5):
        raise UnsupportedError(f"poolings of {len(x) - 2} axes of space are not supported yet")
    if len(operator.outputs) > 1:
        raise UnsupportedError("a pooling that also writes indices is not supported yet")
    mode = "max"
    if "Average" in operator.op_type:
        padded = operator.integer("count_include_pad", 0)
        mode = "average_padded" if padded else "average"
    if operator.op_type.startswith("Global"):
        rank = len(x) - 2
        moves = Windows(x[2:], (1,) * rank, (1,) * rank, (0,) * rank, (0,) * rank)
    else:
        moves = windows(operator, x, operator.integers("kernel_shape", ()), output)
        given = operator.integers("pads", ())
        if mode == "average_padded" and given and moves.pads_after != given[len(given) // 2 :]:
            raise UnsupportedError("an average over pads, rounded up, is not supported yet")
    moves = moves.in_space()
    call = Pooling(
        mode=mode,
        input=in_space(x),
        output=in_space(output),
        window=moves.window,
        strides=moves.strides,
        dilations=moves.dilations,
        pads_before=moves.pads_before,
    )
    return call, {"input": values[operator.inputs[0]]}


POOLINGS: dict[str, Lower] = {
    "AveragePool": _pooling,
    "GlobalAveragePool": _pooling,
    "GlobalMaxPool": _pooling,
    "MaxPool": _pooling,
}
