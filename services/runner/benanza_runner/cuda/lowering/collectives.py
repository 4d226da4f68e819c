"""Lowers collectives: AllReduce and AllGather of ONNX Runtime's operators."""

from collections.abc import Mapping

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import AllGather, AllReduce
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.collectives import ALL_REDUCE
from benanza_schemas.element_types import FLOATS
from benanza_schemas.layer import Layer


def lower_collective(
    layer: Layer, values: Mapping[int, Array]
) -> tuple[AllReduce | AllGather, dict[str, Array], frozenset[str]]:
    """The call for a layer of one collective, with the first rank's operand, which is no weight.

    Raises `UnsupportedError`.
    """
    operator, (position,) = layer.operators[0], layer.inputs()
    if len(layer.operators) > 1:
        raise UnsupportedError(f"{layer.title()} is no single call")
    if layer.tensors[position].dtype not in FLOATS:
        dtype = layer.tensors[position].dtype
        raise UnsupportedError(f"{layer.title()} with {dtype} is not supported yet")
    output = layer.tensors[layer.outputs[0]].shape
    ranks = operator.integer("group_size")
    operands = {"input": values[position]}
    if operator.op_type == ALL_REDUCE:
        return AllReduce(output, ranks), operands, frozenset()
    axis = operator.integer("axis") % len(output)
    return AllGather(output, ranks, axis), operands, frozenset()


def check_seen(ranks: int, seen: int) -> None:
    """Raises `UnsupportedError` if a runner that sees so many GPUs can't run a call of `ranks`."""
    if seen < ranks:
        raise UnsupportedError(
            f"needs {ranks} GPUs in one host; this runner sees {seen}: let CUDA_VISIBLE_DEVICES "
            "name as many, and leave out --gpus"
        )
