"""Resolves a parsed model into its graph of live nodes with types, in one pass over the nodes.

The pass takes constants out, resolves known sequences, conditions and loops, and infers open types
again with the constants that are known by then.
"""

from onnx import GraphProto, ModelProto, TensorProto, shape_inference

from benanza_ingest.following.follow import BatchFollower
from benanza_ingest.layering.layers import Layers
from benanza_ingest.limits import Limits
from benanza_ingest.reading.parse import (
    check_count,
    check_location,
    opset_imports,
    weight_dims,
)
from benanza_ingest.resolving import sequences
from benanza_ingest.resolving.bind import Binding
from benanza_ingest.resolving.causes import Cause, Causes
from benanza_ingest.resolving.contradictions import Contradictions
from benanza_ingest.resolving.control_flow.bodies import hidden_nodes
from benanza_ingest.resolving.control_flow.choices import Choices
from benanza_ingest.resolving.control_flow.placing import BodyPlace
from benanza_ingest.resolving.control_flow.unrolling import Unroller
from benanza_ingest.resolving.declared import Declared
from benanza_ingest.resolving.fold import Constants
from benanza_ingest.resolving.graph import (
    CONTROL_FLOW,
    Graph,
    Node,
    in_topological_order,
    make_node,
    without_dead,
)
from benanza_ingest.resolving.inferring.corrections import without_corrected
from benanza_ingest.resolving.inferring.inference import Inference
from benanza_ingest.resolving.inferring.ranks import without_outgrown
from benanza_ingest.resolving.repeated import once
from benanza_ingest.resolving.sequences import Sequences
from benanza_ingest.resolving.types import TensorType, Types, tensor_type
from benanza_ingest.resolving.wellformed import check_nodes
from benanza_schemas.element_types import FROM_ONNX
from benanza_schemas.operators.table import facts_of, named

_NEVER_CONSTANT = named(lambda facts: facts.kind in ("random", "control flow", "sequence")) | {
    "DequantizeLinear"
}
"""What runs with the model even if all that it reads is constant. Runtimes leave quantised weights
as small as they are: ONNX Runtime computes every other operator on constants beforehand, but no
DequantizeLinear (onnxruntime/core/optimizer/constant_folding.cc)."""


def resolve(model: ModelProto, binding: Binding, limits: Limits) -> Graph:
    """The graph of a model whose inputs were bound, with the types that are known, and without
    costly nodes that repeat others.

    Raises `ModelError` if the graph has a cycle, if it reads values that nothing writes, or if it
    exceeds the limits.
    """
    return once(_resolve(model, binding, limits), opset_imports(model))


def _resolve(model: ModelProto, binding: Binding, limits: Limits) -> Graph:
    """The graph with all live nodes, also those that repeat others."""
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
        place = BodyPlace(
            types,
            self._constants,
            self._sequences,
            self._nodes,
            self._opset,
            self._put,
            left_nodes=limits.nodes - len(model.graph.node),
        )
        self._choices = Choices(
            place, self._causes, Layers(self._graph([], []), self._opset, limits)
        )
        self._unroller = Unroller(place, self._causes)

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
        # They refer back to the resolver, and what is in a circle stays until a search for garbage.
        del self._choices, self._unroller
        return self._graph(live, outputs)

    def _graph(self, nodes: list[Node], outputs: list[str]) -> Graph:
        return Graph(
            nodes=nodes,
            types=self._types,
            constants=self._constants,
            causes=self._causes,
            outputs=outputs,
            outdated=tuple(
                self._declared.outdated(name for node in nodes for name in node.outputs)
            ),
        )

    def _leave_out_empty_parts(self) -> None:
        """Takes values without elements from what is joined, so that nothing has to make them.

        Those of an input of the model without elements stay, as of a cache before its first step:
        at another length they have some, and whatever runs the model joins them in the same call.
        """
        kept = {value.name for value in self._binding.inputs if self._is_empty(value.name)}
        for node in self._nodes:
            if not kept.isdisjoint(node.inputs):
                kept.update(filter(self._is_empty, node.outputs))
            if node.op_type == "Concat" and not node.domain:
                joined = [name for name in node.inputs if name in kept or not self._is_empty(name)]
                node.inputs = tuple(joined) or node.inputs

    def _is_empty(self, name: str) -> bool:
        """Whether a value is known to have no elements."""
        known = self._types.get(name)
        return known is not None and known.resolved and known.elements() == 0

    def _add_weights(self, graph: GraphProto) -> None:
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
        key = tensor.data_type, tuple(tensor.dims[:])
        if key not in self._weight_types:
            dims = weight_dims(tensor, self._limits)
            dtype = FROM_ONNX.get(tensor.data_type)
            self._weight_types[key] = None if dtype is None else tensor_type(dtype, dims)
        return self._weight_types[key]

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
            elif facts_of(node.op_type).kind == "sequence" and opset >= sequences.SINCE:
                self._add_sequence(node, depth)
            elif node.op_type in CONTROL_FLOW:
                self._add_control_flow(node, depth)
            else:
                if node.op_type == "Identity":
                    self._sequences.alias(node.outputs[0], node.inputs[0])
                self._add_node(node)

    def _is_constant(self, node: Node) -> bool:
        op_type, inputs = node.op_type, node.inputs
        if facts_of(op_type).kind == "constant":
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

    def _put(self, body: GraphProto, depth: int) -> list[str]:
        """Adds a body whose names are its own. Returns the names of its results."""
        if self._follower is None:
            self._declared.add(body.value_info)
            self._declared.add(body.output)
        self._add_weights(body)
        self._add([make_node(proto) for proto in body.node], depth)
        return [self._aliases.get(value.name, value.name) for value in body.output]

    def _add_control_flow(self, node: Node, depth: int) -> None:
        """Replaces an operator with bodies by what runs of them; adds it where that isn't known."""
        results = self._placed(node, depth)
        if results is None:
            self._add_node(node)
            return
        for outer, inner in zip(node.outputs, results, strict=False):
            self._aliases[outer] = inner
            self._sequences.alias(outer, inner)

    def _placed(self, node: Node, depth: int) -> list[str] | None:
        """Puts what runs of a node's bodies in place. Returns the names of the results; None, and
        tells why, if that isn't known.
        """
        outcome: list[str] | Cause | None = None
        if node.op_type == "If":
            outcome = self._choices.taken(node, depth)
        elif node.op_type in ("Loop", "Scan"):
            outcome = self._unroller.unrolled(node, depth)
        if isinstance(outcome, list):
            return outcome
        what = f"its body isn't counted (nodes: {hidden_nodes(node.proto):,})"
        cause = outcome or self._causes.of_bodies(node)
        if node.op_type == "If" and not self._is_known(node.inputs[0]):
            other = self._choices.cheaper(node, depth)
            if other is not None:
                what = f"the cheaper branch counts, and the other isn't counted (nodes: {other:,})"
        self._causes.tell(node, what, cause)
        return None

    def _is_known(self, name: str) -> bool:
        return name in self._constants and self._constants.value(name) is not None

    def _add_node(self, node: Node) -> None:
        if self._follower is not None:
            self._follower.mend(node)
        self._causes.add(node)
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
