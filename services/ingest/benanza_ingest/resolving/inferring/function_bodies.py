"""Types of results by the body that ONNX gives for an operator, where it gives nothing else.

An operator that is a function has a body of other operators, which onnx infers one by one:
https://github.com/onnx/onnx/blob/main/docs/IR.md#functions
"""

from collections.abc import Mapping, Sequence

from onnx import FunctionProto, NodeProto, OperatorSetIdProto, TypeProto, ValueInfoProto, helper
from onnx.defs import OpSchema
from onnx.shape_inference import infer_shapes

_DOMAIN = "body"


def has_only_a_body(definition: OpSchema) -> bool:
    """Whether onnx infers types of this operator by its body alone."""
    inferred = definition.has_type_and_shape_inference_function
    has_body: bool = definition.has_function  # type: ignore[attr-defined]
    return not inferred and (has_body or _depends_on_node(definition))


def _depends_on_node(definition: OpSchema) -> bool:
    """Whether the body depends on a node's attributes and inputs."""
    depends: bool = definition.has_context_dependent_function  # type: ignore[attr-defined]
    return depends


def infer_by_body(
    definition: OpSchema,
    node: NodeProto,
    types: Mapping[str, TypeProto],
    opsets: Sequence[OperatorSetIdProto],
) -> dict[str, TypeProto]:
    """The types of a node's outputs, by name. `types` are those of its inputs.

    Raises what onnx raises if they don't fit together.
    """
    call = _with_defaults(definition, node)
    given = [types.get(name, TypeProto()) for name in node.input]
    function = FunctionProto()
    if _depends_on_node(definition):
        function.ParseFromString(
            definition.get_context_dependent_function(  # type: ignore[attr-defined]
                call.SerializeToString(), [input_type.SerializeToString() for input_type in given]
            )
        )
    else:
        function.CopyFrom(definition.function_body)
    function.domain = call.domain = _DOMAIN
    if not function.opset_import:
        function.opset_import.extend(opsets)
    graph = helper.make_graph(
        [call],
        node.op_type,
        [ValueInfoProto(name=name, type=known) for name, known in types.items()],
        [ValueInfoProto(name=name) for name in node.output if name],
    )
    imports = [*opsets, helper.make_opsetid(_DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=imports, functions=[function])
    inferred = infer_shapes(model, strict_mode=True, data_prop=True)
    return {value.name: value.type for value in inferred.graph.output}


def _with_defaults(definition: OpSchema, node: NodeProto) -> NodeProto:
    """The node with all attributes: a body refers to those that are left out, too."""
    call = NodeProto()
    call.CopyFrom(node)
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in definition.attributes.items():
        if name not in given and attribute.default_value.name:
            call.attribute.append(attribute.default_value)
    return call
