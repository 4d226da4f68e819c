"""Transposes that cancel each other, one behind the other or around operators that don't mind.

An element-wise operator may as well work on what a Transpose reads, and what reads its result find
the axes in the other order. Where that saves more Transposes than it takes, ONNX Runtime does so,
in exports of models with channels last: transpose_optimization of ONNX Runtime 1.31. A place along
an axis that an operator names, such as Softmax, is that of the axis in the other order.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from onnx import NodeProto, helper

from benanza_ingest.resolving.graph import Graph, Node
from benanza_ingest.resolving.types import TensorType

ELEMENTWISE = frozenset(
    "Abs Add And Cast Ceil Celu Clip Cos Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual "
    "HardSigmoid HardSwish Identity LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg "
    "Not Or Pow PRelu Reciprocal Relu Round Selu Sigmoid Sign Sin Softplus Softsign Sqrt Sub Sum "
    "Swish Tanh ThresholdedRelu Where Xor".split()
)
ALONG_AXIS = frozenset(("Concat", "LogSoftmax", "Softmax"))
SOFTMAX_OF_ONE_AXIS = 13
"""Since this opset version a Softmax works along one axis, and before along all from one on."""

PRODUCTS = frozenset(("Einsum", "Gemm", "MatMul"))
FACTORS = frozenset(("Div", "Mul"))

Perm = tuple[int, ...]


def cancel(graph: Graph, opset: int) -> bool:
    """Changes the graph's nodes so that fewer Transposes are needed; says whether any were.

    Those that nothing reads any more stay among the nodes.
    """
    changed = _compose(graph)
    mover = _Mover(graph)
    for part in _parts(graph, opset):
        mover.move(part)
    graph.nodes = mover.nodes()
    return changed or mover.has_moved


@dataclass
class _Part:
    """Operators between Transposes of one permutation, and these."""

    perm: Perm
    sources: dict[str, str] = field(default_factory=dict)
    """What each Transpose before them reads, by what it writes."""
    members: list[Node] = field(default_factory=list)


def _compose(graph: Graph) -> bool:
    """Lets a Transpose behind a Transpose read what that reads; says whether it does."""
    operands = _operands(graph)
    before: dict[str, tuple[Perm, str]] = {}
    instead: dict[str, str] = {}
    changed = False
    for node in graph.nodes:
        node.inputs = tuple([instead.get(name, name) for name in node.inputs])
        node.captured = tuple([instead.get(name, name) for name in node.captured])
        perm = _perm(graph, node)
        if perm is None:
            continue
        result = node.outputs[0]
        if node.inputs[0] in before:
            first, source = before[node.inputs[0]]
            composed = tuple([first[axis] for axis in perm])
            if _is_identity(composed) or result not in operands:
                perm, node.inputs, node.proto = composed, (source,), _transpose(composed)
                changed = True
        before[result] = perm, node.inputs[0]
        if _is_identity(perm) and result not in graph.outputs:
            instead[result] = node.inputs[0]
    return changed


def _operands(graph: Graph) -> set[str]:
    """What products of matrices read, by factors too. They read what a Transpose makes in place."""
    found: set[str] = set()
    for node in reversed(graph.nodes):
        is_factor = node.op_type in FACTORS and not found.isdisjoint(node.outputs)
        if node.op_type in PRODUCTS or is_factor:
            found.update(node.inputs)
    return found


def _parts(graph: Graph, opset: int) -> list[_Part]:
    """The parts of the graph whose Transposes may move, each as large as it may be."""
    part_of: dict[str, _Part] = {}
    for node in graph.nodes:
        perm = _perm(graph, node)
        if perm is not None and not _is_identity(perm):
            part_of[node.outputs[0]] = _Part(perm, {node.outputs[0]: node.inputs[0]})
            continue
        found = {id(part_of[name]): part_of[name] for name in node.inputs if name in part_of}
        parts = [*found.values()]
        if not parts or not _may_join(graph, node, parts, part_of, opset):
            continue
        largest = max(parts, key=lambda part: len(part.members) + len(part.sources))
        for other in parts:
            if other is not largest:
                _merge(largest, other, part_of)
        largest.members.append(node)
        part_of[node.outputs[0]] = largest
    return [*{id(part): part for part in part_of.values() if part.members}.values()]


def _merge(into: _Part, part: _Part, part_of: dict[str, _Part]) -> None:
    into.sources |= part.sources
    into.members += part.members
    for name in (*part.sources, *(node.outputs[0] for node in part.members)):
        part_of[name] = into


def _may_join(
    graph: Graph, node: Node, parts: Sequence[_Part], part_of: dict[str, _Part], opset: int
) -> bool:
    """Whether a node works alike on what its inputs are before they are transposed."""
    perm = parts[0].perm
    if node.domain or any(part.perm != perm for part in parts) or len(node.outputs) != 1:
        return False
    if node.op_type in ("LogSoftmax", "Softmax") and opset < SOFTMAX_OF_ONE_AXIS:
        return False
    if node.op_type not in ELEMENTWISE | ALONG_AXIS:
        return False
    for name in (*filter(None, node.inputs), node.outputs[0]):
        known = graph.types.get(name)
        if known is None or not known.resolved or len(known.dims()) > len(perm):
            return False
        is_free = known.elements() == 1 and node.op_type not in ALONG_AXIS
        whole = name in part_of or name == node.outputs[0]
        if whole and len(known.dims()) != len(perm):
            return False
        if not whole and not is_free and name not in graph.constants:
            return False
    return True


class _Mover:
    """Moves the Transposes of parts behind them, where fewer remain then."""

    def __init__(self, graph: Graph) -> None:
        self.has_moved = False
        self._graph = graph
        self._outputs = frozenset(graph.outputs)
        self._operands = _operands(graph)
        self._readers: dict[str, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            for name in {*node.inputs, *node.captured}:
                self._readers[name].append(node)
        self._changed: set[str] = set()
        self._dropped: set[int] = set()
        self._behind: dict[int, Node] = {}

    def nodes(self) -> list[Node]:
        """The graph's nodes after all moves, in topological order."""
        found = []
        for node in self._graph.nodes:
            if id(node) not in self._dropped:
                found.append(node)
            if id(node) in self._behind:
                found.append(self._behind[id(node)])
        return found

    def move(self, part: _Part) -> None:
        """Moves the Transposes of a part, unless a move has changed them, or it saves nothing."""
        if not self._changed.isdisjoint(part.sources):
            return
        members = {id(node) for node in part.members}
        results = [node.outputs[0] for node in part.members]
        read = [
            name
            for name in part.sources
            if name not in self._outputs and all(id(n) in members for n in self._readers[name])
        ]
        back, turns = _inverse(part.perm), self._turns(results)
        undone = [node for node, perm in turns if perm == back]
        kept = {name for name in results if self._is_kept(name, members)}
        if len(read) + len(undone) <= len(kept):
            return
        if not undone and not self._operands.isdisjoint(node.outputs[0] for node, _ in turns):
            return
        turned = {name: f"{name} turned" for name in results}
        for node in undone:
            if node.outputs[0] in self._outputs and turned[node.inputs[0]] not in self._outputs:
                turned[node.inputs[0]] = node.outputs[0]
                self._dropped.add(id(node))
        self.has_moved = True
        self._changed.update(node.outputs[0] for node, _ in turns)
        for node, perm in turns:
            node.inputs = (turned[node.inputs[0]],)
            node.proto = _transpose(tuple([part.perm[axis] for axis in perm]))
        for node in part.members:
            self._turn(node, part, turned, kept)

    def _turns(self, names: Sequence[str]) -> list[tuple[Node, Perm]]:
        """The Transposes that read these values."""
        found = [(n, _perm(self._graph, n)) for name in names for n in self._readers[name]]
        return [(node, perm) for node, perm in found if perm is not None]

    def _is_kept(self, name: str, members: set[int]) -> bool:
        """Whether a value is read in the order of axes that it has."""
        readers = [node for node in self._readers[name] if id(node) not in members]
        others = any(_perm(self._graph, node) is None for node in readers)
        return others or name in self._outputs

    def _turn(self, node: Node, part: _Part, turned: dict[str, str], kept: set[str]) -> None:
        """Lets a node work on what isn't transposed yet."""
        types, result = self._graph.types, node.outputs[0]
        node.name, node.outputs = node.title(), (turned[result],)
        node.inputs = tuple([_untransposed(self._graph, part, turned, x) for x in node.inputs])
        node.proto = _along(part.perm, node.proto)
        types[turned[result]] = _permuted(types[result], _inverse(part.perm))
        if result in kept:
            inputs, proto = (turned[result],), _transpose(part.perm)
            self._behind[id(node)] = Node(proto, "", "Transpose", "", inputs, (result,))


def _untransposed(graph: Graph, part: _Part, turned: dict[str, str], name: str) -> str:
    """What a node of the part reads instead of a value."""
    if name in turned or name in part.sources:
        return turned.get(name) or part.sources[name]
    known = graph.types.get(name)
    if name not in graph.constants or known is None or known.elements() == 1:
        return name
    made = f"{name} turned {part.perm}"
    if made not in graph.constants:
        shape = (1,) * (len(part.perm) - len(known.dims())) + known.dims()
        value = graph.constants.value(name)
        back = _inverse(part.perm)
        whole = TensorType(known.dtype, shape, resolved=True)
        if value is None or value.shape != known.dims():
            graph.constants.add_unknown(made, _permuted(whole, back) or whole)
        else:
            graph.constants.add_array(made, np.transpose(value.reshape(shape), back))
    return made


def _along(perm: Perm, proto: NodeProto) -> NodeProto:
    """The proto of an operator with its axis, if it has one, counted before the Transpose."""
    if proto.op_type not in ALONG_AXIS:
        return proto
    changed = NodeProto()
    changed.CopyFrom(proto)
    given = next((each.i for each in proto.attribute if each.name == "axis"), -1)
    del changed.attribute[:]
    changed.attribute.append(helper.make_attribute("axis", perm[given % len(perm)]))
    return changed


def _perm(graph: Graph, node: Node) -> Perm | None:
    """The permutation of a Transpose; None for others, and where it isn't known."""
    if node.op_type != "Transpose" or node.domain or len(node.inputs + node.outputs) != 2:
        return None
    known = graph.types.get(node.inputs[0])
    if known is None or not known.resolved:
        return None
    rank = len(known.dims())
    given = [*next((each.ints for each in node.proto.attribute if each.name == "perm"), ())]
    found = tuple(given) or tuple(reversed(range(rank)))
    return found if sorted(found) == [*range(rank)] else None


def _transpose(perm: Perm) -> NodeProto:
    return helper.make_node("Transpose", [], [], perm=perm)


def _is_identity(perm: Perm) -> bool:
    return perm == tuple(range(len(perm)))


def _inverse(perm: Perm) -> Perm:
    return tuple([perm.index(axis) for axis in range(len(perm))])


def _permuted(known: TensorType | None, perm: Perm) -> TensorType | None:
    if known is None:
        return None
    return TensorType(known.dtype, tuple([known.dims()[axis] for axis in perm]), resolved=True)
