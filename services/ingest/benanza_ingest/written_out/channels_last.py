"""ONNX Runtime's convolution with channels last, as that of ONNX between two Transposes.

Where channels are last on a GPU, these move nothing.
"""

from benanza_ingest.resolving.graph import Node
from benanza_ingest.written_out.writing import WritingOut, attributes


def convolution(writing: WritingOut, node: Node) -> bool:
    """NhwcConv, unless its weights have their channels last, too."""
    (result,), (x, weights, *_) = node.outputs, node.inputs
    given = attributes(node)
    shape, rank, dtype = writing.shape(x), len(writing.shape(x)), writing.dtype(x)
    if writing.shape(weights)[1] * given.get("group", 1) != shape[-1]:
        return False
    first, last = (0, rank - 1, *range(1, rank - 1)), (0, *range(2, rank), 1)
    moved = tuple([shape[axis] for axis in first])
    moved_x = writing.add("Transpose", (x,), moved, dtype, perm=first)
    made = tuple([writing.shape(result)[axis] for axis in first])
    maps = writing.add("Conv", (moved_x, *node.inputs[1:]), made, dtype, **given)
    writing.add("Transpose", (maps,), writing.shape(result), dtype, result=result, perm=last)
    return True
