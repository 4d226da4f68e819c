"""Puts the steps of a Loop or a Scan in place, one after another."""

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto, NodeProto, helper

from benanza_ingest.limits import NODES_SETTING
from benanza_ingest.resolving.causes import Cause
from benanza_ingest.resolving.control_flow.bodies import body_of, prefix_of, split_constants
from benanza_ingest.resolving.control_flow.placing import BodyPlace
from benanza_ingest.resolving.graph import Node
from benanza_ingest.resolving.sequences import MOST_PARTS
from benanza_ingest.resolving.types import tensor_type

TOO_MANY = Cause(
    f"its steps, written out, are more than ingest takes on: raise {NODES_SETTING}, or export the "
    "model with fewer steps"
)
TOO_MANY_PARTS = Cause(
    f"its steps read or add more than {MOST_PARTS:,} values: export the model with fewer steps"
)
UNFIT = Cause("its body doesn't fit its inputs and results: export the model again")


class Steps:
    """The steps of one Loop or Scan, whose body lies so deep in others. `body` is without its
    weights, which all steps share.
    """

    def __init__(self, place: BodyPlace, node: Node, depth: int) -> None:
        self._place = place
        self._node = node
        self._depth = depth
        self._prefix = prefix_of(node.proto)
        self._count = 0
        weights, self.body, self._weights = split_constants(
            body_of(node.proto, "body"), self._prefix
        )
        place.put(weights, depth)

    def fit(self, inputs: int, results: int) -> bool:
        """Whether the body has so many inputs and results."""
        return len(self.body.input) == inputs and len(self.body.output) == results

    def constant(self, value: int | bool) -> str:
        """The name of a number that the body reads."""
        name = f"{self._prefix}={value}"
        if name not in self._place.constants:
            self._place.constants.add_array(name, np.array(value))
        return name

    def step(self, inputs: Sequence[str]) -> list[str] | None:
        """Puts the next step in place, which reads these values, and returns the names of its
        results; None if that is more than may be added.
        """
        given = {value.name: name for value, name in zip(self.body.input, inputs, strict=True)}
        prefix = f"{self._prefix}{self._count}/"
        self._count += 1
        body = GraphProto()
        body.CopyFrom(self.body)
        for node in body.node:
            if node.name:  # else its title is that of its result
                node.name = f"{prefix}{node.name}"
        return self._place.body(body, prefix, self._weights | given, self._depth)

    def taken_apart(self, name: str, axis: int) -> list[str] | None:
        """The parts of a value along an axis, without it; None if they are too many. A step reads
        its part where it lies.
        """
        start = len(self._place.nodes)
        self._place.constants.type_of(name)  # of a constant it isn't looked for before
        parts = f"{self._prefix}{name}"
        split = helper.make_node("SplitToSequence", [name], [parts], axis=axis, keepdims=0)
        resolved = self._resolved(split)
        self._keep_in_place(start)
        return None if resolved is None else list(self._place.sequences.parts((parts,)))

    def joined(
        self,
        states: Sequence[str],
        added: Sequence[Sequence[str]],
        axes: Sequence[int],
        *,
        in_place: bool,
    ) -> list[str] | Cause:
        """The names of the results: the last states, and of each other one the parts that the steps
        added, joined along a new axis; `in_place` if each step writes its part where it belongs.
        """
        names, start = list(states), len(self._place.nodes)
        for parts, axis in zip(added, axes, strict=True):
            name = f"{self._prefix}{len(names)}"
            construct = helper.make_node("SequenceConstruct", parts, [f"{name}/parts"])
            concat = helper.make_node(
                "ConcatFromSequence",
                [f"{name}/parts"],
                [name],
                name=self._node.proto.output[len(names)],
                axis=axis,
                new_axis=1,
            )
            if self._resolved(construct) is None or self._resolved(concat) is None:
                return TOO_MANY_PARTS
            names.append(name)
        if in_place:
            self._keep_in_place(start)
        return names

    def none_added(self, states: Sequence[str], types_of: Sequence[str]) -> list[str] | Cause:
        """The same where there is no step. The types are those that a step would add."""
        names = list(states)
        for value in types_of:
            name, known = f"{self._prefix}{len(names)}", self._place.constants.type_of(value)
            if known is None or known.shape is None:
                return UNFIT
            self._place.constants.add_unknown(name, tensor_type(known.dtype, (0, *known.shape)))
            names.append(name)
        return names

    def _keep_in_place(self, start: int) -> None:
        for node in self._place.nodes[start:]:
            node.in_place = True

    def _resolved(self, node: NodeProto) -> list[str] | None:
        """Puts in place what a sequence operator stands for; None if that is too many nodes."""
        opset = self._place.opsets.get("", 1)
        resolution = self._place.sequences.resolve(node, tuple(node.input), opset)
        if resolution is None or len(resolution[0]) > self._place.left_nodes:
            return None
        self._place.left_nodes -= len(resolution[0])
        return self._place.put(GraphProto(node=resolution[0]), self._depth)
