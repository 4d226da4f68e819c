"""ONNX Runtime's attention with a mask of keys and a bias of scores, which are added up before.

Libraries add one tensor to scores. ONNX Runtime adds them up as it runs, too
(onnxruntime/contrib_ops/cpu/bert/attention_helper.h).
"""

import numpy as np
from onnx import TensorProto

from benanza_ingest.resolving.graph import Node
from benanza_ingest.written_out.writing import WritingOut, attributes

MASKED = -10000.0
"""What is added, by default, to the score of a key that doesn't count."""


def multi_head(writing: WritingOut, node: Node) -> bool:
    """MultiHeadAttention with both."""
    return _biased(writing, node, mask=4, bias=5)


def projected(writing: WritingOut, node: Node) -> bool:
    """Attention with both."""
    return _biased(writing, node, mask=3, bias=5)


def _biased(writing: WritingOut, node: Node, mask: int, bias: int) -> bool:
    """With a bias that has the mask. These are the places of both among the inputs."""
    given, inputs = attributes(node), [*node.inputs, *("",) * 6]
    keys, scores = inputs[mask], inputs[bias]
    if not (keys and scores) or len(writing.shape(keys)) not in (2, 3):
        return False  # A mask of one axis has lengths, which say which keys there are.
    batch, *queries, count = writing.shape(keys)
    dtype, shape = writing.dtype(scores), (batch, 1, *(queries or [1]), count)
    number = given.get("mask_filter_value", MASKED)
    added = [writing.number(np.array(each, dtype)) for each in (0, number)]
    counts = writing.add("Cast", (keys,), writing.shape(keys), "bool", to=TensorProto.BOOL)
    counts = writing.add("Reshape", (counts, writing.number(np.array(shape))), shape, "bool")
    hidden = writing.add("Where", (counts, *added), shape, dtype)
    whole = np.broadcast_shapes(shape, writing.shape(scores))
    inputs[bias] = writing.add("Add", (scores, hidden), whole, dtype)
    inputs[mask] = ""
    read = tuple(inputs[: max(len(node.inputs), bias + 1)])
    writing.put(node.op_type, read, node.outputs, domain=node.domain, **given)
    return True
