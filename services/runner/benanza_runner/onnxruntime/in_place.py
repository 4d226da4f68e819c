"""Results that lie in the memory of an input."""

from onnx import GraphProto

_KEPT = ((3, 1), (4, 2))
"""The places of kept keys and values among a GroupQueryAttention's inputs and outputs."""


def in_place(graph: GraphProto) -> dict[str, str]:
    """The inputs of the graph, by the outputs that are written into their memory.

    What a GroupQueryAttention keeps is its own input with the new keys and values where both have
    the same type: there is room for them. So ONNX Runtime GenAI binds them, and nothing is copied.
    """
    inputs = {info.name: info.type for info in graph.input}
    outputs = {info.name: info.type for info in graph.output}
    input_of: dict[str, str] = {}
    for node in graph.node:
        for kept, result in _KEPT if node.op_type == "GroupQueryAttention" else ():
            if len(node.input) > kept and len(node.output) > result:
                before, after = node.input[kept], node.output[result]
                if before in inputs and outputs.get(after) == inputs[before]:
                    input_of[after] = before
    return input_of
