"""The types of the results of ONNX Runtime's own operators, and of some of ai.onnx.ml.

Sizes follow by a rule for each operator, element types from its definition.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
from onnx import NodeProto, helper
from onnx.defs import OpSchema

from benanza_ingest.resolving.onnxruntime_operators import (
    attention,
    chosen_keys,
    classical,
    elementwise,
    kept_states,
    products,
    windows,
)
from benanza_ingest.resolving.onnxruntime_operators.own_node import (
    OwnNode,
    Rule,
    UnknownResultError,
)
from benanza_ingest.resolving.types import TensorType, tensor_type
from benanza_schemas.element_types import FROM_ONNX
from benanza_schemas.operators.skipped import SKIPPED

RULES: dict[tuple[str, str], Rule] = {
    **{
        ("com.microsoft" if name != "SimplifiedLayerNormalization" else "", name): rule
        for rules in (
            *(attention.RULES, chosen_keys.RULES, elementwise.RULES, kept_states.RULES),
            *(products.RULES, windows.RULES),
        )
        for name, rule in rules.items()
    },
    **{("com.microsoft.nchwc", name): rule for name, rule in windows.IN_BLOCKS.items()},
    **{("ai.onnx.ml", name): rule for name, rule in classical.RULES.items()},
    ("ai.onnx.ml", "ZipMap"): classical.maps,
}

_NAMES = {"float": "float32", "double": "float64"}
_DEFAULTS = {"MurmurHash3": "uint32", "QGemm": "float32", "QuantizeLinear": "uint8"}
"""Element types of results where what decides them is left out."""

_BY_ATTRIBUTE = {"DequantizeBFP": "dtype", "DequantizeWithOrder": "to", "GemmFloat8": "dtype"}
"""Attributes that decide them."""

_BY_INPUT = {"QGemm": 8}
"""Inputs that decide them though the definition gives the two different variables."""


def results(
    definition: OpSchema,
    node: NodeProto,
    known: Sequence[TensorType | None],
    values: Sequence[npt.NDArray[Any] | None],
) -> dict[str, TensorType]:
    """The types of a node's results, by name; only of those that follow.

    `known` are the resolved types of its inputs by position, None for one that is left out;
    `values` the elements of constants. Raises `UnknownResultError`, and what Python raises if a
    file contradicts the operator's definition.
    """
    rule = RULES.get((definition.domain, definition.name))
    if rule is None:
        raise UnknownResultError(SKIPPED[definition.domain, definition.name])
    own = OwnNode(
        op_type=definition.name,
        attributes=_attributes(definition, node, known),
        shapes=[None if input_type is None else input_type.dims() for input_type in known],
        values=values,
    )
    types = {}
    bound = _bound(definition, known)
    if definition.name == "MurmurHash3" and not own.number("positive"):
        bound["T2"] = "int32"
    if definition.name in _BY_ATTRIBUTE:
        chosen = FROM_ONNX[own.number(_BY_ATTRIBUTE[definition.name])]
        bound[definition.outputs[0].type_str] = chosen
    if definition.name in ("SVMClassifier", "TreeEnsembleClassifier"):
        bound["T2"] = "string" if own.attributes.get("classlabels_strings") else "int64"
    for position, shape in enumerate(rule(own)[: len(node.output)]):
        name = node.output[position]
        dtype = _dtype(definition, position, bound) if name else ""
        if dtype:
            types[name] = tensor_type(dtype, tuple(shape))
    return types


def _attributes(
    definition: OpSchema, node: NodeProto, known: Sequence[TensorType | None]
) -> dict[str, Any]:
    attributes = {
        name: helper.get_attribute_value(attribute.default_value)
        for name, attribute in definition.attributes.items()
        if attribute.default_value.name
    }
    attributes |= {
        attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute
    }
    if definition.name == "GatherBlockQuantized" and known[0] is not None:
        attributes["packed"] = known[0].dtype == "uint8"
    return attributes


def _bound(definition: OpSchema, known: Sequence[TensorType | None]) -> dict[str, str]:
    """The element type for each variable of the definition that an input binds."""
    bound: dict[str, str] = {}
    formals = definition.inputs
    for position, input_type in enumerate(known):
        formal = formals[min(position, len(formals) - 1)]
        if input_type is not None:
            bound.setdefault(formal.type_str, input_type.dtype)
            if _BY_INPUT.get(definition.name) == position:
                bound[definition.outputs[0].type_str] = input_type.dtype
    return bound


def _dtype(definition: OpSchema, position: int, bound: Mapping[str, str]) -> str:
    formals = definition.outputs
    type_str = formals[min(position, len(formals) - 1)].type_str
    if type_str in bound:
        return bound[type_str]
    if definition.name in _DEFAULTS:
        return _DEFAULTS[definition.name]
    allowed = [
        constraint.allowed_type_strs
        for constraint in definition.type_constraints
        if constraint.type_param_str == type_str
    ]
    names = [_name(allowed_type) for allowed_type in (allowed[0] if allowed else [type_str])]
    if "float32" in names:
        return "float32"
    return names[0] if len(names) == 1 and names[0] in FROM_ONNX.values() else ""


def _name(type_str: str) -> str:
    name = type_str.removeprefix("tensor(").removesuffix(")")
    return _NAMES.get(name, name)
