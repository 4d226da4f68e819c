"""Changes a graph to what one rank computes of it, with the collectives between ranks.

Their nodes are those of ONNX Runtime: AllReduce adds up values of all ranks, AllGather joins them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from onnx import NodeProto, helper

from benanza_ingest.deriving.parallel.along import Segments
from benanza_ingest.deriving.parallel.flow import Fixed, Flow, SplitStep
from benanza_ingest.resolving.graph import Graph, Node, without_dead
from benanza_ingest.resolving.types import TensorType, tensor_type

DOMAIN = "com.microsoft"


class Part(msgspec.Struct, frozen=True):
    """A rank's part of a value: along an axis, its share of each of these segments of the whole."""

    whole: str
    axis: int
    segments: Segments


class OneRank:
    """Makes the graph that of the first rank.

    `parts` says of which constants, and of which of the model's inputs and outputs, others have
    other parts: by the name in the graph.
    """

    def __init__(self, graph: Graph, flow: Flow, ranks: int) -> None:
        self._graph, self._flow, self._ranks = graph, flow, ranks
        self._fixed = Fixed(graph)
        self._whole_types = dict(graph.types)
        self._made: dict[Part, str] = {}
        self._nodes: list[Node] = []
        self.parts: dict[str, Part] = {}

    def run(self, opsets: Mapping[str, int]) -> None:
        """Changes the nodes, types and constants of the graph."""
        graph, flow = self._graph, self._flow
        for name, state in flow.states.items():
            graph.types[name] = self._local(name, state.axis)
            if name not in self._fixed.writers or name in graph.outputs:
                self.parts[name] = Part(name, state.axis, state.segments)
        for node in graph.nodes:
            step = flow.steps.get(node.first_output())
            if step is None:
                self._nodes.append(node)
            elif step.role == "rows":
                self._sum(node, step)
            elif step.role == "gathered":
                self._gather(node, step)
            else:
                self._nodes.append(self._changed(node, step))
        graph.nodes = without_dead(self._nodes, graph.outputs, dict(opsets))

    def _local(self, name: str, axis: int) -> TensorType:
        known = self._whole_types[name]
        assert known is not None, "what is split has a known shape"
        sizes = list(known.dims())
        sizes[axis] //= self._ranks
        return tensor_type(known.dtype, tuple(sizes))

    def _named(self, name: str) -> str:
        """The name, changed if the model has a value that is called so."""
        while name in self._graph.types or name in self._graph.constants:
            name += "'"
        return name

    def _changed(self, node: Node, step: SplitStep) -> Node:
        """The node as the rank computes it."""
        kept, inputs = step.kept, list(node.inputs)
        for slot, (axis, segments) in kept.parts.items():
            inputs[slot] = self._part(Part(inputs[slot], axis, segments))
        for slot, value in kept.values.items():
            inputs[slot] = self._named(f"{node.first_output()}/{slot}")
            self._graph.constants.add_array(inputs[slot], value)
        if kept.attributes:
            node = replace(node, proto=_with(node.proto, kept.attributes))
        return replace(node, inputs=tuple(inputs))

    def _part(self, part: Part) -> str:
        """The name of the rank's part of what follows from constants alone."""
        if part not in self._made:
            self._made[part] = name = self._named(f"{part.whole}/part {len(self._made)}")
            writer = self._fixed.writers.get(part.whole)
            if writer is None:
                self._add_constant(name, part)
            else:
                self._add_fixed(name, part, writer)
        return self._made[part]

    def _add_constant(self, name: str, part: Part) -> None:
        constants = self._graph.constants
        constants.type_of(part.whole)
        self._whole_types[part.whole] = self._graph.types[part.whole]
        value = constants.value(part.whole)
        if value is None:
            constants.add_unknown(name, self._local(part.whole, part.axis))
        else:
            constants.add_array(name, rank_part(np.asarray(value), part, self._ranks, 0))
        self.parts[name] = part

    def _add_fixed(self, name: str, part: Part, writer: Node) -> None:
        """The part of what a node computes of constants, computed of parts of these."""
        inputs, axis = list(writer.inputs), part.axis
        if writer.op_type == "Transpose":
            axis = _order(writer, len(self._local(part.whole, axis).dims()))[axis]
        inputs[0] = self._part(replace(part, whole=inputs[0], axis=axis))
        for slot in range(1, len(inputs)):  # scales and zero points
            known = self._graph.constants.type_of(inputs[slot]) if inputs[slot] else None
            if known is not None and known.elements() != 1:
                inputs[slot] = self._scales(part, inputs[slot], known, writer)
        self._graph.types[name] = self._local(part.whole, part.axis)
        self._nodes.append(replace(writer, inputs=tuple(inputs), outputs=(name,)))

    def _scales(self, part: Part, name: str, known: TensorType, writer: Node) -> str:
        """The rank's part of scales: by the axis that is split, in blocks of it or not; or all."""
        shape, of = known.dims(), self._whole_types[part.whole]
        assert of is not None, "its part was made"
        rank = len(of.dims())
        own = next((a.i for a in writer.proto.attribute if a.name == "axis"), 1) % rank
        if len(shape) == 1 and own != part.axis:
            return name
        axis = 0 if len(shape) == 1 else part.axis
        step = of.dims()[part.axis] // shape[axis]
        return self._part(Part(name, axis, tuple(size // step for size in part.segments)))

    def _result(self, node: Node, kind: str, local: TensorType) -> tuple[Node, str]:
        """The node with a result of another name, which has this type."""
        name = self._named(f"{node.first_output()}/{kind}")
        self._graph.types[name] = local
        return replace(node, outputs=(name, *node.outputs[1:])), name

    def _sum(self, node: Node, step: SplitStep) -> None:
        """The product of the rank's rows, the sum over all ranks, and then the bias."""
        whole = node.first_output()
        known = self._whole_types[whole]
        assert known is not None, "its product has a known shape"
        changed = self._changed(node, step)
        bias = changed.inputs[step.bias] if step.bias else ""
        if step.bias:
            inputs = list(changed.inputs)
            inputs[step.bias] = ""
            while not inputs[-1]:
                inputs.pop()
            changed = replace(changed, inputs=tuple(inputs))
        changed, partial = self._result(changed, "of rank", known)
        self._nodes.append(changed)
        summed = whole
        if bias:
            summed = self._named(f"{whole}/sum")
            self._graph.types[summed] = known
        self._add("AllReduce", DOMAIN, node, (partial,), summed, group_size=self._ranks)
        if bias:
            self._add("Add", "", node, (summed, bias), whole)

    def _gather(self, node: Node, step: SplitStep) -> None:
        """The product of the rank's columns, and then those of all ranks."""
        whole, state = node.first_output(), step.kept.results[0]
        local = self._local(whole, state.axis)
        changed, columns = self._result(self._changed(node, step), "of rank", local)
        self._nodes.append(changed)
        told = {"group_size": self._ranks, "axis": state.axis}
        self._add("AllGather", DOMAIN, node, (columns,), whole, **told)

    def _add(
        self,
        op_type: str,
        domain: str,
        after: Node,
        inputs: Sequence[str],
        output: str,
        **attributes: int,
    ) -> None:
        name = f"{after.title()}/{op_type}"
        proto = helper.make_node(op_type, inputs, [output], name, domain=domain)
        proto.attribute.extend(helper.make_attribute(key, v) for key, v in attributes.items())
        self._nodes.append(Node(proto, name, op_type, domain, tuple(inputs), (output,)))


def rank_part(whole: np.ndarray, part: Part, ranks: int, rank: int) -> np.ndarray:
    """What a rank has of a whole array."""
    ends = np.cumsum(part.segments)[:-1]
    pieces = np.split(whole, ends, part.axis)
    return np.concatenate([np.split(p, ranks, part.axis)[rank] for p in pieces], part.axis)


def _order(node: Node, rank: int) -> list[int]:
    given = next((list(a.ints) for a in node.proto.attribute if a.name == "perm"), None)
    return given or list(range(rank)[::-1])


def _with(proto: NodeProto, attributes: dict[str, Any]) -> NodeProto:
    """A copy with these values of attributes."""
    changed = NodeProto()
    changed.CopyFrom(proto)
    others = [attribute for attribute in proto.attribute if attribute.name not in attributes]
    del changed.attribute[:]
    changed.attribute.extend(others)
    changed.attribute.extend(helper.make_attribute(name, v) for name, v in attributes.items())
    return changed
