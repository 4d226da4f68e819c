"""Definitions of the operators that ONNX Runtime adds to ONNX's own.

Its optimisers, its quantiser and its builder of language models write them into files. onnx has no
definition of them: those here are as ONNX Runtime states them, by
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from onnx import AttributeProto, helper
from onnx.defs import OpSchema, get_schema

FILE = Path(__file__).with_suffix(".json")

DOMAINS = ("com.microsoft", "com.microsoft.nchwc")
WITHOUT_DOMAIN = frozenset(["SimplifiedLayerNormalization"])
"""What ONNX Runtime adds to the standard domain, and writes into the files that it optimises."""

EARLIER = {"LayerNormalization": 17, "MeanVarianceNormalization": 9, "ThresholdedRelu": 10}
"""Operators of the standard domain that ONNX Runtime has at any opset version, and writes into the
files that it optimises; with the version in which ONNX defined them, likewise.
"""


_COLLECTIVE: dict[str, Any] = {
    "domain": "com.microsoft",
    "since": 1,
    "inputs": [("input", "T", "Single", True)],
    "outputs": [("output", "T", "Single", True)],
    "types": {"T": ["tensor(double)", "tensor(float)", "tensor(float16)"]},
}
COLLECTIVES: tuple[dict[str, Any], ...] = (
    _COLLECTIVE
    | {
        "name": "AllGather",
        "attributes": {"axis": ("INT", False, 0), "group_size": ("INT", False, 1)},
    },
    _COLLECTIVE | {"name": "AllReduce", "attributes": {"group_size": ("INT", False, 1)}},
)
"""Operators for several GPUs, the `group_size`. Only builds of ONNX Runtime with NCCL have them
(onnxruntime/core/graph/contrib_ops/collective_defs.cc), so no package says of them what `FILE` has
of the others.
"""


def schema(op_type: str, domain: str, opset: int) -> OpSchema | None:
    """The operator's definition at this opset version; None if ONNX Runtime adds none."""
    if not domain and opset < (defined := EARLIER.get(op_type, 0)):
        return get_schema(op_type, defined)
    if not is_own_operator(op_type, domain):
        return None
    definition = own_schemas().get((domain, op_type))
    return definition if definition is not None and definition.since_version <= opset else None


def is_own_operator(op_type: str, domain: str) -> bool:
    """Whether an operator of this name is ONNX Runtime's, if it is anybody's."""
    return domain in DOMAINS or (not domain and op_type in WITHOUT_DOMAIN)


@cache
def own_schemas() -> dict[tuple[str, str], OpSchema]:
    """All definitions, by domain and name."""
    described = (*json.loads(FILE.read_text("utf-8")), *COLLECTIVES)
    return {
        (description["domain"], description["name"]): _schema(description)
        for description in described
    }


def _schema(described: dict[str, Any]) -> OpSchema:
    return OpSchema(
        described["name"],
        described["domain"],
        described["since"],
        inputs=[_parameter(*parameter) for parameter in described["inputs"]],
        outputs=[_parameter(*parameter) for parameter in described["outputs"]],
        type_constraints=[(name, types, "") for name, types in described["types"].items()],
        attributes=[
            _attribute(name, *attribute) for name, attribute in described["attributes"].items()
        ],
    )


def _parameter(
    name: str, type_str: str, option: str, homogeneous: bool
) -> OpSchema.FormalParameter:
    return OpSchema.FormalParameter(
        name,
        type_str,
        param_option=getattr(OpSchema.FormalParameterOption, option),
        is_homogeneous=homogeneous,
    )


def _attribute(name: str, kind: str, required: bool, default: Any) -> OpSchema.Attribute:
    if default is None:
        return OpSchema.Attribute(name, getattr(OpSchema.AttrType, kind), required=required)
    kinds = AttributeProto.AttributeType
    value = helper.make_attribute(name, default, attr_type=kinds.Value(kind))
    return OpSchema.Attribute(name, value)
