"""Results that lie in the memory of an input."""

from onnx import GraphProto

from benanza_schemas.operators.buffers import BUFFERS


def in_place(graph: GraphProto) -> dict[str, str]:
    """The inputs of the graph, by the outputs that are written into their memory.

    What an operator keeps is its own input with the new keys and values where both have the same
    type: there is room for them. So ONNX Runtime GenAI binds them, and nothing is copied.
    """
    inputs = {info.name: info.type for info in graph.input}
    outputs = {info.name: info.type for info in graph.output}
    input_of: dict[str, str] = {}
    for node in graph.node:
        places = BUFFERS.get(node.op_type, ()) if node.domain == "com.microsoft" else ()
        for kept, result in places:
            if len(node.input) > kept and len(node.output) > result:
                before, after = node.input[kept], node.output[result]
                if before in inputs and outputs.get(after) == inputs[before]:
                    input_of[after] = before
    return input_of
