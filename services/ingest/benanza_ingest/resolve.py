"""From a parsed model to its graph of live nodes with types, in one pass over the nodes.

Constants are taken out, sequences and conditions that are known resolved, and what shape
inference left open is inferred again with the constants that are known by then.
"""

from math import prod

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, TypeProto, numpy_helper, shape_inference

from benanza_ingest import sequences
from benanza_ingest.bind import Binding
from benanza_ingest.fold import Constants
from benanza_ingest.graph import Graph, Node, captured_names, in_topological_order, without_dead
from benanza_ingest.parse import opset_imports, subgraphs
from benanza_ingest.sequences import Sequences
from benanza_ingest.types import TensorType, Types, from_proto, of_initializer, tensor_type

_RANDOM = frozenset(
    "RandomNormal RandomUniform RandomNormalLike RandomUniformLike Bernoulli Multinomial".split()
)
_CONTROL_FLOW = frozenset(("If", "Loop", "Scan"))
_MAX_NESTING = 64


def resolve(model: ModelProto, binding: Binding) -> Graph:
    """The live nodes of a model whose inputs were bound, with what is known of their types.

    Raises `ModelError` for a graph with a cycle or with values that nothing writes.
    """
    nodes = in_topological_order(model.graph)
    if binding.former_batch is None:
        model, nodes = _inferred(model, nodes)
        types = Types(model)
    else:
        # The shapes that the model states are those of another batch size.
        types = Types()
        types.add_values(model.graph.input)
    return _Resolver(model, types, binding).run(nodes)


def _inferred(model: ModelProto, nodes: list[NodeProto]) -> tuple[ModelProto, list[NodeProto]]:
    if any(a is not b for a, b in zip(nodes, model.graph.node, strict=True)):
        copies = [NodeProto.FromString(node.SerializeToString()) for node in nodes]
        del model.graph.node[:]
        model.graph.node.extend(copies)
    try:
        inferred = shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # noqa: BLE001  types that contradict each other: go on node by node
        return model, list(model.graph.node)
    return inferred, list(inferred.graph.node)


class _Resolver:
    def __init__(self, model: ModelProto, types: Types, binding: Binding) -> None:
        self._opsets = list(model.opset_import)
        self._opset = opset_imports(model)
        self._ir_version = model.ir_version
        self._types = types
        self._former_batch = binding.former_batch
        self._batch = binding.batch
        self._constants = Constants(model, types)
        self._sequences = Sequences(types, self._constants)
        self._aliases: dict[str, str] = {}
        self._nodes: list[Node] = []
        self._outputs = [value.name for value in model.graph.output]
        self._add_weights(model.graph)

    def run(self, nodes: list[NodeProto]) -> Graph:
        self._add(nodes, 0)
        outputs = [self._aliases.get(name, name) for name in self._outputs]
        return Graph(
            nodes=without_dead(self._nodes, outputs),
            types=self._types,
            constants=self._constants,
            outputs=outputs,
        )

    def _add_weights(self, graph: onnx.GraphProto) -> None:
        for tensor in graph.initializer:
            known = of_initializer(tensor)
            if known is not None:
                self._types.set(tensor.name, known)
            self._constants.add_tensor(tensor.name, tensor)
        for sparse in graph.sparse_initializer:
            known = of_initializer(sparse.values)
            if known is not None:
                self._types.set(sparse.values.name, tensor_type(known.dtype, tuple(sparse.dims)))
            external = TensorProto(
                name=sparse.values.name,
                dims=sparse.dims,
                data_type=sparse.values.data_type,
                data_location=TensorProto.EXTERNAL,
            )
            self._constants.add_tensor(sparse.values.name, external)

    def _add(self, nodes: list[NodeProto], depth: int) -> None:
        constants, aliases = self._constants, self._aliases
        for proto in nodes:
            op_type = proto.op_type
            inputs = tuple(proto.input)
            if aliases:
                inputs = tuple(aliases.get(name, name) for name in inputs)
            domain = "" if proto.domain == "ai.onnx" else proto.domain
            if domain == "" and self._is_constant(proto, op_type, inputs):
                constants.add_node(proto, inputs)
                if self._former_batch is not None:
                    self._infer(Node(proto, op_type, domain, inputs, tuple(proto.output)))
            elif domain == "" and op_type in sequences.OPERATORS:
                self._add_sequence(proto, inputs, depth)
            elif domain == "" and op_type == "If" and self._add_branch(proto, inputs, depth):
                pass
            else:
                if op_type == "Identity":
                    self._sequences.alias(proto.output[0], inputs[0])
                self._add_node(proto, op_type, domain, inputs)

    def _is_constant(self, proto: NodeProto, op_type: str, inputs: tuple[str, ...]) -> bool:
        if op_type in ("Shape", "Size", "Constant"):
            return True
        if op_type in _RANDOM or op_type in _CONTROL_FLOW or op_type in sequences.OPERATORS:
            return False
        constants = self._constants
        if op_type == "CastLike":  # of its second input it only asks the type
            inputs = inputs[:1]
        return bool(inputs) and all(name in constants for name in inputs if name)

    def _add_sequence(self, proto: NodeProto, inputs: tuple[str, ...], depth: int) -> None:
        resolved = self._sequences.resolve(proto, inputs, self._opset.get("", 1))
        if resolved is None:
            self._add_node(proto, proto.op_type, "", inputs)
            return
        nodes, aliases = resolved
        self._add(nodes, depth + 1)
        self._aliases.update(aliases)

    def _add_branch(self, proto: NodeProto, inputs: tuple[str, ...], depth: int) -> bool:
        """Puts the branch that runs in the place of an If whose condition is known."""
        if depth > _MAX_NESTING or inputs[0] not in self._constants:
            return False
        condition = self._constants.value(inputs[0])
        if condition is None or condition.size != 1:
            return False
        wanted = "then_branch" if condition.item() else "else_branch"
        body = next((a.g for a in proto.attribute if a.name == wanted), None)
        if body is None or any(self._is_known(name) for n in body.node for name in n.output):
            return False
        self._types.add_values(body.value_info)
        self._types.add_values(body.output)
        self._add_weights(body)
        self._add(list(body.node), depth + 1)
        for outer, inner in zip(proto.output, body.output, strict=False):
            self._aliases[outer] = self._aliases.get(inner.name, inner.name)
            self._sequences.alias(outer, inner.name)
        return True

    def _is_known(self, name: str) -> bool:
        return bool(name) and (name in self._constants or name in self._aliases)

    def _add_node(
        self, proto: NodeProto, op_type: str, domain: str, inputs: tuple[str, ...]
    ) -> None:
        captured: tuple[str, ...] = ()
        if op_type in _CONTROL_FLOW:
            captured = tuple(self._aliases.get(name, name) for name in captured_names(proto))
        outputs = tuple(proto.output)
        node = Node(proto, op_type, domain, inputs, outputs, captured)
        if self._former_batch is not None and op_type == "Reshape":
            self._follow_batch(node)
        for name in outputs:
            known = self._types.get(name) if name else None
            if name and (known is None or not known.resolved):
                self._infer(node)
                break
        self._nodes.append(node)

    def _infer(self, node: Node) -> None:
        """Shape inference for one node, with the constants that are known here."""
        if node.op_type in _CONTROL_FLOW or any(subgraphs(node.proto)):
            return
        types: dict[str, TypeProto] = {}
        data: dict[str, TensorProto] = {}
        for name in node.inputs:
            if not name:
                continue
            known = self._constants.type_of(name)
            proto = self._types.proto(name)
            if known is None or proto is None:
                return
            types[name] = proto
            value = self._constants.value(name) if name in self._constants else None
            if value is not None:
                data[name] = numpy_helper.from_array(np.asarray(value), name)
        renamed = NodeProto()
        renamed.CopyFrom(node.proto)
        del renamed.input[:]
        renamed.input.extend(node.inputs)
        try:
            schema = onnx.defs.get_schema(node.op_type, self._opset[node.domain], node.domain)
            found = shape_inference.infer_node_outputs(
                schema, renamed, types, data, None, self._opsets, self._ir_version
            )
        except Exception:  # noqa: BLE001  what can't be inferred stays unknown, and is skipped
            return
        for name, inferred in found.items():
            known = from_proto(inferred)
            if known is not None and _says_more(known, self._types.get(name)):
                self._types.set(name, known)

    def _follow_batch(self, node: Node) -> None:
        """A Reshape to a shape that states the former batch size gets the new one."""
        data, shape = node.inputs[0], node.inputs[1] if len(node.inputs) > 1 else ""
        known, target = self._types.get(data), self._constants.value(shape) if shape else None
        if known is None or not known.resolved or target is None or target.size == 0:
            return
        wanted = [int(size) for size in target]
        if wanted[0] != self._former_batch or any(size == 0 for size in wanted[1:]):
            return
        rest = prod(size for size in wanted[1:] if size > 0)
        open_sizes = -1 in wanted[1:]
        fits = known.elements() == self._former_batch * rest
        would_fit = known.elements() == self._batch * rest
        if (would_fit and not fits) or (open_sizes and known.dims()[0] == self._batch):
            name = f"{shape}.batch{self._batch}"
            self._constants.add_array(name, np.array([self._batch, *wanted[1:]], np.int64))
            node.inputs = (data, name, *node.inputs[2:])


def _says_more(new: TensorType, old: TensorType | None) -> bool:
    if old is None or old.shape is None:
        return True
    return new.resolved and not old.resolved
