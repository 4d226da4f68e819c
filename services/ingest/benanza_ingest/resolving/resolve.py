"""Resolves a parsed model into its graph of live nodes with types, in one pass over the nodes.

The pass takes constants out, resolves known sequences and conditions, and infers open types again
with the constants that are known by then.
"""

import onnx
from onnx import ModelProto, TensorProto, shape_inference

from benanza_ingest.following.follow import BatchFollower
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import (
    check_count,
    check_location,
    opset_imports,
    weight_dims,
)
from benanza_ingest.resolving import sequences
from benanza_ingest.resolving.bind import Binding
from benanza_ingest.resolving.branches import with_own_names
from benanza_ingest.resolving.causes import Causes
from benanza_ingest.resolving.contradictions import Contradictions
from benanza_ingest.resolving.declared import Declared
from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.graph import (
    CONTROL_FLOW,
    RANDOM,
    Graph,
    Node,
    in_topological_order,
    make_node,
    without_dead,
)
from benanza_ingest.resolving.inferring.corrections import without_corrected
from benanza_ingest.resolving.inferring.inference import Inference
from benanza_ingest.resolving.inferring.ranks import without_outgrown
from benanza_ingest.resolving.sequences import Sequences
from benanza_ingest.resolving.simplifying.simplify import simplify
from benanza_ingest.resolving.types import TensorType, Types, tensor_type
from benanza_ingest.resolving.wellformed import check_nodes
from benanza_schemas.element_types import FROM_ONNX

_ALWAYS_CONSTANT = frozenset(("Shape", "Size", "Constant"))
_NEVER_CONSTANT = (RANDOM - {"Dropout"}) | CONTROL_FLOW | sequences.OPERATORS
_MAX_NESTING = 64


def resolve(model: ModelProto, binding: Binding, limits: Limits) -> Graph:
    """The graph of a model whose inputs were bound, with the types that are known, and without
    nodes that repeat others or are undone.

    Raises `ModelError` if the graph has a cycle, if it reads values that nothing writes, or if it
    exceeds the limits.
    """
    return simplify(_resolve(model, binding, limits), opset_imports(model))


def _resolve(model: ModelProto, binding: Binding, limits: Limits) -> Graph:
    """The graph with all live nodes, as `resolve` has it before it is simplified."""
    check_count(len(model.graph.node), limits)
    nodes = in_topological_order(model.graph)
    check_nodes(nodes, opset_imports(model), limits)
    types = Types()
    declared = Declared(types)
    own = None
    if binding.own is None:
        declared.take_from(model.graph)
        inferred = _inferred(model, nodes).graph
        types.add_values(inferred.value_info)
        types.add_values(inferred.output)
    else:  # the shapes that the model declares are those of its own batch size
        own = _resolve(binding.own.model, binding.own.binding, limits)
    types.add_values(binding.inputs)
    return _Resolver(model, types, declared, binding, limits, own).run(nodes)


def _inferred(model: ModelProto, nodes: list[Node]) -> ModelProto:
    # Without onnx's data propagation, which takes a hundred bytes for each element of a vector of
    # any size: `Constants` does its work.
    with (
        without_outgrown(model.graph, nodes, model.functions),
        without_corrected(node.proto for node in nodes),
    ):
        try:
            return shape_inference.infer_shapes(model)
        except Exception:  # noqa: BLE001  contradicting types: infer node by node
            return model


class _Resolver:
    def __init__(
        self,
        model: ModelProto,
        types: Types,
        declared: Declared,
        binding: Binding,
        limits: Limits,
        own: Graph | None,
    ) -> None:
        self._limits = limits
        self._declared = declared
        self._opset = opset_imports(model)
        self._types = types
        self._inference = Inference(model, types)
        self._constants = Constants(model, types, self._inference)
        self._causes = Causes(binding, types, self._constants, self._inference, self._opset)
        self._sequences = Sequences(types, self._constants)
        self._weight_types: dict[tuple[int, tuple[int, ...]], TensorType | None] = {}
        self._aliases: dict[str, str] = {}
        self._nodes: list[Node] = []
        self._outputs = [value.name for value in model.graph.output]
        self._add_weights(model.graph)
        self._binding = binding
        self._follower: BatchFollower | None = None
        if own is not None and binding.own is not None:
            sizes = binding.own.binding.batch, binding.batch
            self._follower = BatchFollower(own, *sizes, self._constants, self._inference)

    def run(self, nodes: list[Node]) -> Graph:
        self._add(nodes, 0)
        outputs = [self._aliases.get(name, name) for name in self._outputs]
        outputs.extend(self._sequences.parts(tuple(outputs)))
        self._leave_out_empty_parts()
        live = without_dead(self._nodes, outputs, self._opset)
        if self._follower is not None:
            self._follower.refuse(live)
        elif self._binding.asked:
            known = self._types, self._declared, self._constants
            Contradictions(self._binding, *known).refuse(live)
        return Graph(
            nodes=live,
            types=self._types,
            constants=self._constants,
            causes=self._causes,
            outputs=outputs,
            outdated=tuple(self._declared.outdated(name for node in live for name in node.outputs)),
        )

    def _leave_out_empty_parts(self) -> None:
        """Takes values without elements from what is joined, so that nothing has to make them."""
        for node in self._nodes:
            if node.op_type == "Concat" and not node.domain:
                filled = [name for name in node.inputs if not self._is_empty(name)]
                node.inputs = tuple(filled) or node.inputs

    def _is_empty(self, name: str) -> bool:
        """Whether a value is known to have no elements."""
        known = self._types.get(name)
        return known is not None and known.resolved and known.elements() == 0

    def _add_weights(self, graph: onnx.GraphProto) -> None:
        for tensor in graph.initializer:
            name, known = tensor.name, self._weight_type(tensor)
            if known is not None:
                self._types[name] = known
            self._constants.add_tensor(name, tensor)
        for sparse in graph.sparse_initializer:
            dense = TensorProto(
                name=sparse.values.name,
                dims=sparse.dims,
                data_type=sparse.values.data_type,
                data_location=TensorProto.EXTERNAL,
            )
            known = self._weight_type(dense)
            if known is not None:
                self._types[dense.name] = known
            self._constants.add_tensor(dense.name, dense)

    def _weight_type(self, tensor: TensorProto) -> TensorType | None:
        if tensor.data_location == TensorProto.EXTERNAL:
            check_location(tensor)
        look = tensor.data_type, tuple(tensor.dims[:])
        if look not in self._weight_types:
            dims = weight_dims(tensor, self._limits)
            dtype = FROM_ONNX.get(tensor.data_type)
            self._weight_types[look] = None if dtype is None else tensor_type(dtype, dims)
        return self._weight_types[look]

    def _add(self, nodes: list[Node], depth: int) -> None:
        constants, aliases = self._constants, self._aliases
        opset = self._opset.get("", 0)
        for node in nodes:
            if aliases:
                node.inputs = tuple([aliases.get(name, name) for name in node.inputs])
                node.captured = tuple([aliases.get(name, name) for name in node.captured])
            if node.domain or not opset:  # the operator isn't known
                self._add_node(node)
            elif self._is_constant(node):
                constants.add_node(node.proto, node.inputs, node.outputs)
                if self._follower is not None:
                    self._infer(node)
            elif node.op_type in sequences.OPERATORS and opset >= sequences.SINCE:
                self._add_sequence(node, depth)
            elif node.op_type != "If" or not self._add_branch(node, depth):
                if node.op_type == "Identity":
                    self._sequences.alias(node.outputs[0], node.inputs[0])
                self._add_node(node)

    def _is_constant(self, node: Node) -> bool:
        op_type, inputs = node.op_type, node.inputs
        if op_type in _ALWAYS_CONSTANT:
            return True
        if not inputs or op_type in _NEVER_CONSTANT:
            return False
        if op_type == "CastLike":  # of its second input it uses only the type
            inputs = inputs[:1]
        return self._constants.has_all(inputs)

    def _add_sequence(self, node: Node, depth: int) -> None:
        resolved = self._sequences.resolve(node.proto, node.inputs, self._opset.get("", 1))
        if resolved is None:
            self._add_node(node)
            return
        protos, aliases = resolved
        self._add([make_node(proto) for proto in protos], depth + 1)
        self._aliases.update(aliases)

    def _add_branch(self, node: Node, depth: int) -> bool:
        """Replaces an If whose condition is known by the branch that runs."""
        if depth > _MAX_NESTING or node.inputs[0] not in self._constants:
            return False
        condition = self._constants.value(node.inputs[0])
        if condition is None or condition.size != 1:
            return False
        wanted = "then_branch" if condition.item() else "else_branch"
        body = next((a.g for a in node.proto.attribute if a.name == wanted), None)
        if body is None:
            return False
        body = with_own_names(body, f"{next(filter(None, node.outputs), '')}/")
        if self._follower is None:
            self._declared.add(body.value_info)
            self._declared.add(body.output)
        self._add_weights(body)
        self._add([make_node(proto) for proto in body.node], depth + 1)
        for outer, inner in zip(node.outputs, body.output, strict=False):
            self._aliases[outer] = self._aliases.get(inner.name, inner.name)
            self._sequences.alias(outer, inner.name)
        return True

    def _add_node(self, node: Node) -> None:
        if self._follower is not None:
            self._follower.mend(node)
        # A node that reads a sequence reads its tensors: the nodes that made the sequence are gone.
        if self._sequences.any_known:
            node.captured += self._sequences.parts(node.inputs + node.captured)
        if self._has_open_outputs(node):
            self._infer(node)
            for name in filter(None, node.outputs):
                self._declared.fill(name)
            if self._has_open_outputs(node):
                self._causes.note(node)
        if self._follower is not None:
            self._follower.check(node)
        self._nodes.append(node)

    def _has_open_outputs(self, node: Node) -> bool:
        for name in node.outputs:
            known = self._types.get(name)
            if (known is None or not known.resolved) and name:
                return True
        return False

    def _infer(self, node: Node) -> None:
        """Infers the types of one node's outputs, with the constants that are known."""
        if node.op_type in CONTROL_FLOW:
            return
        values = {}
        for name in node.inputs:
            if name in self._constants:
                self._constants.type_of(name)
                values[name] = self._constants.value(name)
        self._inference.infer(node.proto, node.inputs, values)
