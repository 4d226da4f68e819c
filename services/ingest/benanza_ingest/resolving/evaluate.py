"""Evaluates single nodes on known elements, by `onnx.reference`."""

from collections.abc import Sequence
from math import ceil, prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, OperatorSetIdProto, helper

if TYPE_CHECKING:  # the import takes 0.1 s, rarely needed
    from onnx.reference import ReferenceEvaluator

_Elements = npt.NDArray[Any] | None

FEW_ELEMENTS = 64
"""Results are kept of nodes whose inputs have no more elements each: most shapes have fewer."""


class Evaluator:
    """Evaluates nodes of one model, whose blocks compute the same shapes again and again.

    Nodes that differ in names alone are prepared once, and run once if they read the same few
    elements. Results that would have more elements than `most` aren't computed.
    """

    def __init__(self, opsets: Sequence[OperatorSetIdProto], most: int) -> None:
        self._opsets = opsets
        self._most = most
        self._prepared: dict[object, ReferenceEvaluator] = {}
        self._results: dict[object, list[_Elements]] = {}

    def run(self, node: NodeProto, arrays: Sequence[_Elements]) -> list[_Elements]:
        """The results of a node for its inputs, of which those that are left out are None.

        A result is None if the node leaves it out, and all are if they can't be computed.
        """
        given = tuple([attribute.SerializeToString() for attribute in node.attribute])
        present = tuple([array is not None for array in arrays])
        written = tuple([name != "" for name in node.output])
        key = (node.op_type, node.domain, given, present, written)
        if any(a is not None and (a.size > FEW_ELEMENTS or a.dtype.hasobject) for a in arrays):
            return self._run(node, key, arrays)
        read = tuple([a if a is None else (a.dtype, a.shape, a.tobytes()) for a in arrays])
        results = self._results.get((key, read))
        if results is None:
            results = self._results[key, read] = self._run(node, key, arrays)
        return results

    def _run(self, node: NodeProto, key: object, arrays: Sequence[_Elements]) -> list[_Elements]:
        # Of texts, numpy makes all as long as the longest.
        if any(a is not None and a.dtype.kind in "OSU" for a in arrays):
            return [None] * len(node.output)
        if _result_elements(node.op_type, arrays) > self._most:
            return [None] * len(node.output)
        feeds = {f"input{slot}": array for slot, array in enumerate(arrays) if array is not None}
        try:
            with np.errstate(all="ignore"):
                prepared = self._prepared.get(key)
                if prepared is None:
                    present = [array is not None for array in arrays]
                    prepared = self._prepared[key] = _prepared(node, present, self._opsets)
                results = iter(prepared.run(None, feeds))
        except Exception:  # noqa: BLE001  a constant that can't be computed is unknown
            return [None] * len(node.output)
        return [_array(next(results)) if name else None for name in node.output]


def _prepared(
    node: NodeProto, present: Sequence[bool], opsets: Sequence[OperatorSetIdProto]
) -> "ReferenceEvaluator":
    """An evaluator of a node whose inputs, as far as present, and outputs have other names."""
    from onnx.reference import ReferenceEvaluator

    inputs = [f"input{slot}" if there else "" for slot, there in enumerate(present)]
    outputs = [name and f"output{slot}" for slot, name in enumerate(node.output)]
    renamed = NodeProto()
    renamed.CopyFrom(node)
    renamed.input[:] = inputs
    renamed.output[:] = outputs
    graph = helper.make_graph(
        [renamed],
        "constant",
        [helper.make_empty_tensor_value_info(name) for name in inputs if name],
        [helper.make_empty_tensor_value_info(name) for name in outputs if name],
    )
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=opsets))


def _array(value: object) -> _Elements:
    return np.asarray(value) if isinstance(value, np.ndarray | np.generic | int | float) else None


def _result_elements(op_type: str, arrays: Sequence[_Elements]) -> int:
    """An upper bound for the elements of a result, before it is computed: it may be huge."""
    present = [a for a in arrays if a is not None]
    sizes = [int(a.size) for a in present]
    try:
        match op_type:
            case "ConstantOfShape":
                return prod(int(size.real) for size in present[0])
            case "Expand":
                wanted = tuple([int(size.real) for size in present[1]])
                return prod(np.broadcast_shapes(present[0].shape, wanted))
            case "Tile":
                return sizes[0] * prod(abs(int(size.real)) for size in present[1])
            case "Range":
                start, limit, delta = (float(a.item()) for a in present)
                return max(0, ceil((limit - start) / delta))
            case "Gather" | "GatherND" | "ScatterND" | "ScatterElements":
                return prod(max(1, size) for size in sizes[:2])
            case "Concat":
                return sum(sizes)
        return prod(np.broadcast_shapes(*(a.shape for a in present)))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError, IndexError, RuntimeError):
        # Shapes that don't broadcast are those of operators that read parts of their input.
        return max(sizes, default=1)
