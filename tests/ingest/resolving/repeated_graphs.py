"""Random graphs with nodes that repeat others."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto, helper, numpy_helper

SHAPE = (2, 3, 4, 5)
UNARY = ("Abs", "Elu", "Neg", "Relu")
BINARY = ("Add", "Mul")
VECTOR = np.linspace(0.5, 1.5, 60).reshape(3, 4, 5).astype(np.float32)

Shape = tuple[int, ...]


@st.composite
def graphs(draw: st.DrawFn, kinds: tuple[str, ...]) -> bytes:
    """A model of up to a dozen nodes of these kinds, of which some are results."""
    nodes: list[NodeProto] = []
    shapes: dict[str, Shape] = {"x": SHAPE, "z": SHAPE}
    constants: dict[str, np.ndarray] = {}
    for number in range(draw(st.integers(2, 12))):
        value = draw(st.sampled_from(sorted(shapes)[-4:]))
        shape, result = shapes[value], f"v{number:02}"
        attributes: dict[str, Any] = {}
        inputs = [value]
        kind = draw(st.sampled_from(kinds))
        if kind == "repeat" and nodes:
            copied = draw(st.sampled_from([n for n in nodes if n.output[0] in shapes]))
            nodes.append(NodeProto.FromString(copied.SerializeToString()))
            nodes[-1].output[0] = result
            shapes[result] = shapes[copied.output[0]]
            continue
        match kind:
            case "unary":
                op = draw(st.sampled_from(UNARY))
            case "binary":
                op = draw(st.sampled_from(BINARY))
                inputs.append(draw(st.sampled_from([n for n in shapes if shapes[n] == shape])))
            case "constant":
                op = draw(st.sampled_from(["Add", "Mul"]))
                name = f"c{number}"
                constants[name] = np.resize(VECTOR, shape[draw(st.integers(0, 3)) :])
                inputs.append(name)
            case _:
                op, attributes = "Softmax", {"axis": draw(st.integers(-4, 3))}
        if draw(st.booleans()) and op in BINARY:
            inputs.reverse()
        nodes.append(helper.make_node(op, inputs, [result], **attributes))
        shapes[result] = shape
    read = {name for node in nodes for name in node.input}
    results = [name for name in shapes if name not in read and name not in ("x", "z")]
    results += draw(st.lists(st.sampled_from(sorted(shapes)), max_size=1))
    results = [name for name in dict.fromkeys(results) if name not in ("x", "z")]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("x", "z")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[name]) for name in results],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    encoded: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=8
    ).SerializeToString()
    return encoded
