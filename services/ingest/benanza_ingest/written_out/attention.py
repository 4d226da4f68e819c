"""ONNX Runtime's attention with what libraries don't take besides: it is added before.

A mask of keys is added to a bias of scores, of which libraries take one. ONNX Runtime adds them up
as it runs, too (onnxruntime/contrib_ops/cpu/bert/attention_helper.h).
"""

from typing import Any

import numpy as np
from onnx import TensorProto

from benanza_ingest.resolving.graph import Node
from benanza_ingest.written_out.writing import WritingOut, attributes

MASKED = -10000.0
"""What is added, by default, to the score of a key that doesn't count."""


def multi_head(writing: WritingOut, node: Node) -> bool:
    """MultiHeadAttention with a mask and a bias of scores, or with a bias of what is new behind
    former keys and values, which without that a buffer may keep.
    """
    given, inputs = attributes(node), [*node.inputs, *("",) * 8][:10]
    changed = _with_mask_in_bias(writing, given, inputs, mask=4, bias=5)
    if inputs[3] and inputs[6] and writing.is_constant(inputs[3]) and all(inputs[:3]):
        for place, name in enumerate(inputs[:3]):
            shape, dtype = writing.shape(name), writing.dtype(name)
            added = writing.weight(shape[-1:], dtype)
            inputs[place] = writing.add("Add", (name, added), shape, dtype)
        inputs[3], changed = "", True
    return changed and _put(writing, node, given, inputs)


def projected(writing: WritingOut, node: Node) -> bool:
    """Attention with a mask and a bias of scores, or without one of its product, which ONNX Runtime
    wants on processors.
    """
    given, inputs = attributes(node), [*node.inputs, *("",) * 7][:7]
    if inputs[4]:
        return False  # With former keys and values it is written otherwise, where it can be.
    changed = _with_mask_in_bias(writing, given, inputs, mask=3, bias=5)
    if not inputs[2]:
        zeros = np.zeros(writing.shape(inputs[1])[-1:], writing.dtype(inputs[1]))
        inputs[2], changed = writing.number(zeros), True
    return changed and _put(writing, node, given, inputs)


def of_keys(writing: WritingOut, mask: str, number: float, dtype: str) -> str:
    """What is added, by batch, head, query and key, where integers say which keys count, for all
    queries or for each.
    """
    batch, *queries, keys = writing.shape(mask)
    shape = batch, 1, *(queries or [1]), keys
    numbers = [writing.number(np.array(each, np.dtype(dtype))) for each in (0.0, number)]
    counts = writing.add("Cast", (mask,), writing.shape(mask), "bool", to=TensorProto.BOOL)
    counts = writing.add("Reshape", (counts, writing.number(np.array(shape))), shape, "bool")
    return writing.add("Where", (counts, *numbers), shape, dtype)


def _with_mask_in_bias(
    writing: WritingOut, given: dict[str, Any], inputs: list[str], mask: int, bias: int
) -> bool:
    """Whether there are both at these places of the inputs, of which the mask is left out then."""
    keys, scores = inputs[mask], inputs[bias]
    if not (keys and scores) or len(writing.shape(keys)) not in (2, 3):
        return False  # A mask of one axis has lengths, which say which keys there are.
    dtype = writing.dtype(scores)
    hidden = of_keys(writing, keys, given.get("mask_filter_value", MASKED), dtype)
    whole = np.broadcast_shapes(writing.shape(hidden), writing.shape(scores))
    inputs[mask], inputs[bias] = "", writing.add("Add", (scores, hidden), whole, dtype)
    return True


def _put(writing: WritingOut, node: Node, given: dict[str, Any], inputs: list[str]) -> bool:
    while not inputs[-1]:
        inputs.pop()
    writing.put(node.op_type, tuple(inputs), node.outputs, domain=node.domain, **given)
    return True
