"""Random graphs, each with one that computes the same by more nodes: copies, and what is undone."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

SIZE = 4
UNARY = ("Abs", "Elu", "Erf", "Neg", "Relu", "Sigmoid", "Softplus", "Tanh", "Softmax", "Transpose")
BINARY = ("Add", "Max", "Min", "Mul", "Sub")
NUMBERS = {"one": 1, "nought": 0}
TURN = (0, 2, 1)
"""How what is undone is turned; no other Transpose does so."""

Step = tuple[str, tuple[int, ...]]
"""An operator, and the values that it reads: 0 and 1 are the inputs."""


class Pair(NamedTuple):
    """A model, and one with nodes that nothing needs; `added` says how many there are."""

    clean: bytes
    messy: bytes
    added: int


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    """Two models that compute the same."""
    unary, binary = draw(st.permutations(UNARY)), draw(st.permutations(BINARY))
    steps: list[Step] = []
    for number in range(2, 2 + draw(st.integers(1, 8))):
        values = range(max(0, number - 4), number)
        one = draw(st.sampled_from(values))
        if unary and (not binary or draw(st.booleans())):
            steps.append((unary.pop(), (one,)))
        elif binary:
            other = draw(st.sampled_from([value for value in values if value != one]))
            steps.append((binary.pop(), (one, other)))
    read = {value for _, inputs in steps for value in inputs}
    results = [number for number in range(2, 2 + len(steps)) if number not in read]
    results = sorted({*results, draw(st.integers(2, 1 + len(steps)))})
    clean = _Writer(steps, None)
    messy = _Writer(steps, draw)
    return Pair(clean.model(results), messy.model(results), len(messy.nodes) - len(clean.nodes))


class _Writer:
    """Writes the nodes of these steps, with what `draw` adds to them."""

    def __init__(self, steps: Sequence[Step], draw: st.DrawFn | None) -> None:
        self.nodes: list[NodeProto] = []
        self._draw = draw
        self._names = {0: ["x"], 1: ["z"]}
        self._steps = steps
        for number, _ in enumerate(steps, 2):
            self._names[number] = [self._step(number)]

    def model(self, results: Sequence[int]) -> bytes:
        names = [
            self._value(number) if self._draw else self._names[number][0] for number in results
        ]
        names = [*dict.fromkeys(names)]
        graph = helper.make_graph(
            self.nodes,
            "g",
            [_declared("x"), _declared("z")],
            [_declared(name) for name in names],
            [
                numpy_helper.from_array(np.array(number, np.float32), name)
                for name, number in NUMBERS.items()
                if any(name in node.input for node in self.nodes)
            ],
        )
        opsets = [helper.make_opsetid("", 17)]
        encoded: bytes = helper.make_model(
            graph, opset_imports=opsets, ir_version=8
        ).SerializeToString()
        return encoded

    def _step(self, number: int) -> str:
        op, inputs = self._steps[number - 2]
        names = [self._value(value) for value in inputs]
        return self._node(op, names, **({"perm": (1, 2, 0)} if op == "Transpose" else {}))

    def _value(self, number: int) -> str:
        """The name of a value; unless it is given, it may be computed again, or turned and back."""
        if self._draw is None or number < 2:
            return self._names[number][0]
        kind = self._draw(st.sampled_from(["", "", "copy", "turn", "cast", "number", "identity"]))
        name = self._draw(st.sampled_from(self._names[number]))
        match kind:
            case "copy":
                name = self._step(number)
            case "turn":
                turned = self._node("Transpose", [name], perm=TURN)
                name = self._node("Transpose", [turned], perm=TURN)
            case "cast":
                wide = self._node("Cast", [name], to=TensorProto.DOUBLE)
                name = self._node("Cast", [wide], to=TensorProto.FLOAT)
            case "number":
                name = self._node("Mul", [name, "one"])
                name = self._node("Add", ["nought", name])
            case "identity":
                name = self._node("Identity", [name])
        self._names[number].append(name)
        return name

    def _node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name


def _declared(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, (SIZE,) * 3)
