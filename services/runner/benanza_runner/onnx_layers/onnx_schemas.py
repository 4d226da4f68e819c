"""What ONNX and ONNX Runtime say of operators and element types."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import onnx

from benanza_schemas.element_types import FROM_ONNX, TO_ONNX
from benanza_schemas.layer import Layer, Operator
from benanza_schemas.operators import onnxruntime
from benanza_schemas.operators.onnxruntime import EARLIER

OLDEST_OPSET = 7
"""The oldest opset of the standard domain that models are made in."""

_CHANGED = {("PRelu", 6)}
"""Versions whose successors look alike: opset 7 changed along which axis a slope is broadcast."""

_TYPE_NAMES = {"float": "float32", "double": "float64"}


class UnknownVersionError(ValueError):
    """No opset has these versions of operators together; the text says which."""


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The NumPy type for an element type; for those that NumPy lacks, the one of ml_dtypes."""
    numpy_type: np.dtype[Any] = onnx.helper.tensor_dtype_to_np_dtype(TO_ONNX[dtype])
    return numpy_type


def onnx_dtype(dtype: np.dtype[Any]) -> str:
    """The reverse of `numpy_dtype`: the element type for a type of NumPy's or ml_dtypes'."""
    return FROM_ONNX[onnx.helper.np_dtype_to_tensor_dtype(dtype)]


def schema(operator: Operator) -> onnx.defs.OpSchema | None:
    """The definition of an operator in its version, or None for one that is neither ONNX's nor
    ONNX Runtime's.
    """
    return _schema(operator.op_type, operator.version, operator.domain)


@cache
def _schema(op_type: str, version: int, domain: str) -> onnx.defs.OpSchema | None:
    try:
        definition = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return onnxruntime.schema(op_type, domain, version)
    return definition


def new_attributes(operator: Operator) -> frozenset[str]:
    """The attributes that the version of an operator before its own doesn't have."""
    former = _schema(operator.op_type, operator.version - 1, operator.domain)
    definition = schema(operator)
    if former is None or definition is None:
        return frozenset()
    return frozenset(definition.attributes) - frozenset(former.attributes)


def formal_types(operator: Operator, slot: int, *, output: bool) -> frozenset[str] | None:
    """The element types that an operator's input or output may have, or None if unknown."""
    return _formal_types(operator.op_type, operator.version, operator.domain, slot, output)


@cache
def _formal_types(
    op_type: str, version: int, domain: str, slot: int, output: bool
) -> frozenset[str] | None:
    definition = _schema(op_type, version, domain)
    if definition is None:
        return None
    formals = definition.outputs if output else definition.inputs
    if not formals:
        return None
    formal = formals[min(slot, len(formals) - 1)]
    names = (
        name.removeprefix("tensor(").removesuffix(")")
        for name in formal.types
        if name.startswith("tensor(")
    )
    return frozenset(_TYPE_NAMES.get(name, name) for name in names) & frozenset(FROM_ONNX.values())


def opsets(layer: Layer) -> dict[str, int]:
    """The smallest opset of each domain in which all operators have their versions, or later ones
    that say the same and only take more.

    Raises `UnknownVersionError` if there is none. Operators that the standard doesn't define are
    not checked: the runtime knows them, or refuses them by name.
    """
    versions = _newest(layer.operators)
    changed = _changed(layer, versions)
    if changed is not None:
        # ONNX Runtime has some operators at opsets older than those that define them.
        versions = _newest(
            operator for operator in layer.operators if operator.op_type not in EARLIER
        )
        changed = _changed(layer, versions)
    if changed is not None:
        opset = versions[changed.domain]
        raise UnknownVersionError(
            f"{changed.op_type} in version {changed.version} is older than opset {opset}, "
            "which the layer needs; convert the model to a newer opset and publish it again"
        )
    return versions


def _newest(operators: Iterable[Operator]) -> dict[str, int]:
    versions: dict[str, int] = {"": OLDEST_OPSET}
    for operator in operators:
        versions[operator.domain] = max(versions.get(operator.domain, 1), operator.version)
    return versions


def _changed(layer: Layer, opsets: dict[str, int]) -> Operator | None:
    """The first operator that is another one at these opsets."""
    for operator in layer.operators:
        opset = opsets[operator.domain]
        if not _says_the_same(operator.op_type, operator.version, opset, operator.domain):
            return operator
    return None


@cache
def _says_the_same(op_type: str, version: int, opset: int, domain: str) -> bool:
    """Whether an operator of a version is the one that an opset has: the same version, or a later
    one that has the same attributes with the same defaults, and as many inputs and outputs. Such a
    version takes more types, or lets an input be left out.
    """
    newer = _schema(op_type, opset, domain)
    if newer is None or newer.since_version == version:
        return True
    older = _schema(op_type, version, domain)
    is_changed = newer.deprecated or (op_type, version) in _CHANGED
    if older is None or newer.since_version < version or is_changed:
        return False
    counts = (len(older.inputs), len(older.outputs)) == (len(newer.inputs), len(newer.outputs))
    return counts and _attributes(older) == _attributes(newer)


def _attributes(definition: onnx.defs.OpSchema) -> dict[str, tuple[object, ...]]:
    return {
        name: (attribute.type, attribute.required, attribute.default_value.SerializeToString())
        for name, attribute in definition.attributes.items()
    }
