"""Many copies of a layer in one model: the layer's time is a call's, divided by the copies.

A call into a runtime costs microseconds, which is more than a small layer takes. Copies read the
same inputs and weights, and their outputs are bound to the same memory, so that all but the first
find everything in the caches.
"""

from math import ceil
from typing import Any

from onnx import GraphProto, ModelProto, ValueInfoProto

CALL_US = 300.0
"""A call should take this long: its overhead of about 3 µs, which is subtracted, weighs little, and
between what else a processor does, some calls are undisturbed.
"""

ADDED = 3
"""The input of ONNX Runtime's convolutions to which the result is added."""

MAX_COPIES = 256
MAX_CONSTANT_BYTES = 64_000_000
"""The most that the weights of all copies may take: a runtime may rearrange them for each copy."""

MAX_INTEGER_BYTES = 8_000_000
"""The same for weights that are integers: ONNX Runtime packs them for each copy, and such kernels
are as fast as the cache that they read. Two copies of 8 MB took 1.15 times as long, each, as one.
"""


def copies_for(layer_us: float, constant_bytes: int, integer_bytes: int = 0) -> int:
    """How many copies of a layer make a call long enough to be timed.

    `layer_us` is about how long one copy takes, in microseconds, `constant_bytes` is the size of
    its weights, and `integer_bytes` of those among them that are integers.
    """
    by_time = ceil(CALL_US / max(layer_us, CALL_US / MAX_COPIES))
    by_weight = MAX_CONSTANT_BYTES // max(constant_bytes, 1)
    by_integers = MAX_INTEGER_BYTES // max(integer_bytes, 1)
    return max(1, min(by_time, by_weight, by_integers, MAX_COPIES))


def replicated(model: ModelProto, copies: int, *, own_inputs: bool = False) -> ModelProto:
    """The model with its nodes copied, each copy with outputs of its own.

    The outputs of copy `c` are named `NAME/c`; inputs and initializers are shared, or only the
    latter if each copy has its `own_inputs`, named so, too. A convolution that adds a feature map
    adds the result of the copy before, which nothing else reads: as in a model, it may write its
    result there.
    """
    source = model.graph
    added = _added(source)
    graph = GraphProto(name=source.name)
    graph.initializer.extend(source.initializer)
    own = {name for node in source.node for name in node.output if name}
    if own_inputs:
        own |= {info.name for info in source.input}
    else:
        graph.input.extend(source.input)
    for copy in range(copies):
        for given in source.input if own_inputs else ():
            _add(graph.input, given, copy)
        for position, node in enumerate(source.node):
            another = graph.node.add()
            another.CopyFrom(node)
            another.name = f"{position}/{copy}"
            for names in (another.input, another.output):
                for place, name in enumerate(names):
                    if name in own:
                        names[place] = f"{name}/{copy}"
            if added and copy:
                another.input[ADDED] = f"{added}/{copy - 1}"
        for output in source.output if not added or copy == copies - 1 else ():
            _add(graph.output, output, copy)
    many = ModelProto(ir_version=model.ir_version, graph=graph)
    many.opset_import.extend(model.opset_import)
    return many


def _add(infos: Any, info: ValueInfoProto, copy: int) -> None:
    """Adds an input or output under the name that it has for this copy."""
    added = infos.add()
    added.CopyFrom(info)
    added.name = f"{info.name}/{copy}"


def _added(graph: GraphProto) -> str:
    """The result of the one node, if that is a convolution which adds one of the model's inputs."""
    (first, *others) = graph.node
    adds = not others and first.op_type in ("Conv", "FusedConv") and len(first.input) > ADDED
    if not adds or first.input[ADDED] not in {info.name for info in graph.input}:
        return ""
    return str(first.output[0])
