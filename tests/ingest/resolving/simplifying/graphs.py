"""Random graphs with nodes that repeat others, change nothing, or are undone by others."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto, helper, numpy_helper

SHAPE = (2, 3, 4, 5)
PERMS = [(0, 2, 3, 1), (0, 3, 1, 2), (0, 1, 3, 2), (3, 2, 1, 0)]
UNARY = ("Abs", "Elu", "Erf", "Neg", "Relu", "Sigmoid", "Softplus", "Tanh")
BINARY = ("Add", "Max", "Min", "Mul", "Sub")
NUMBERS = ("one", "nought", "third", "another third")
VECTOR = np.linspace(0.5, 1.5, 60).reshape(3, 4, 5).astype(np.float32)

Shape = tuple[int, ...]


@st.composite
def graphs(draw: st.DrawFn, kinds: tuple[str, ...], once: bool = False) -> bytes:
    """A model of up to a dozen nodes of these kinds, of which some are results. With `once`, no two
    operators but Transposes are the same.
    """
    unary, binary = draw(st.permutations(UNARY)), draw(st.permutations(BINARY))
    nodes: list[NodeProto] = []
    shapes: dict[str, Shape] = {"x": SHAPE, "z": SHAPE}
    constants = {
        name: np.array(number, np.float32)
        for name, number in zip(NUMBERS, (1, 0, 1 / 3, 1 / 3), strict=True)
    }
    for number in range(draw(st.integers(2, 12))):
        value = draw(st.sampled_from(sorted(shapes)[-4:]))
        shape, result = shapes[value], f"v{number:02}"
        attributes: dict[str, Any] = {}
        inputs = [value]
        kind = draw(st.sampled_from(kinds))
        if once and not (unary if kind == "unary" else binary):
            kind = "transpose"
        if kind == "repeat" and nodes:
            copied = draw(st.sampled_from([n for n in nodes if n.output[0] in shapes]))
            nodes.append(NodeProto.FromString(copied.SerializeToString()))
            nodes[-1].output[0] = result
            shapes[result] = shapes[copied.output[0]]
            continue
        match kind:
            case "unary" | "repeat":
                op = unary.pop() if once else draw(st.sampled_from(UNARY[:4]))
            case "binary":
                op = binary.pop() if once else draw(st.sampled_from(BINARY[:2]))
                inputs.append(draw(st.sampled_from([n for n in shapes if shapes[n] == shape])))
            case "number":
                op = draw(st.sampled_from(["Add", "Div", "Mul", "Sub"]))
                inputs.append(draw(st.sampled_from(NUMBERS)))
            case "constant":
                op = binary.pop() if once else draw(st.sampled_from(["Add", "Mul"]))
                name = f"c{number}"
                constants[name] = np.resize(VECTOR, shape[draw(st.integers(0, 3)) :])
                inputs.append(name)
            case "transpose":
                op, perm = "Transpose", draw(st.sampled_from(PERMS))
                attributes, shape = {"perm": perm}, tuple(shape[axis] for axis in perm)
            case "softmax":
                op, attributes = "Softmax", {"axis": draw(st.integers(-4, 3))}
            case "concat":
                op, axis = "Concat", draw(st.integers(-4, 3))
                inputs.append(draw(st.sampled_from([n for n in shapes if shapes[n] == shape])))
                grown = [2 * n if at == axis % 4 else n for at, n in enumerate(shape)]
                attributes, shape = {"axis": axis}, tuple(grown)
            case _:
                wide = draw(st.sampled_from([TensorProto.DOUBLE, TensorProto.FLOAT16]))
                nodes.append(helper.make_node("Cast", inputs, [f"{result} cast"], to=wide))
                inputs = [f"{result} cast"]
                op, attributes = "Cast", {"to": TensorProto.FLOAT}
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
