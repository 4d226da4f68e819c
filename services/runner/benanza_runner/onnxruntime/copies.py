"""Many copies of a layer in one model: what one more copy adds to a call is the layer's time.

A call into a runtime costs microseconds, which is more than a small layer takes. Copies read
the same inputs and weights, and their outputs are bound to the same memory, so that all but
the first find everything in the caches.
"""

from math import ceil

from onnx import GraphProto, ModelProto

CALL_US = 1_000.0
"""A call should last this long: then a call's overhead is lost in it."""

MAX_COPIES = 256
MAX_CONSTANT_BYTES = 64_000_000
"""Of all copies' weights together: a runtime may keep a rearranged copy of them for each."""


def copies_for(layer_us: float, constant_bytes: int) -> int:
    """How many copies make a call of a layer that takes about so long worth timing."""
    by_time = ceil(CALL_US / max(layer_us, CALL_US / MAX_COPIES))
    by_weight = MAX_CONSTANT_BYTES // max(constant_bytes, 1)
    return max(1, min(by_time, by_weight, MAX_COPIES))


def replicated(model: ModelProto, copies: int) -> ModelProto:
    """The model with its nodes copied, each copy with outputs of its own.

    The outputs of copy `c` are named `NAME/c`; inputs and initializers are shared.
    """
    source = model.graph
    graph = GraphProto(name=source.name)
    graph.input.extend(source.input)
    graph.initializer.extend(source.initializer)
    written = {name for node in source.node for name in node.output if name}
    for copy in range(copies):
        for at, node in enumerate(source.node):
            own = graph.node.add()
            own.CopyFrom(node)
            own.name = f"{at}/{copy}"
            for names in (own.input, own.output):
                for place, name in enumerate(names):
                    if name in written:
                        names[place] = f"{name}/{copy}"
        for output in source.output:
            info = graph.output.add()
            info.CopyFrom(output)
            info.name = f"{output.name}/{copy}"
    many = ModelProto(ir_version=model.ir_version, graph=graph)
    many.opset_import.extend(model.opset_import)
    return many
