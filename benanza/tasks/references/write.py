"""Writes what a layer computes as a program of NumPy or PyTorch that stands alone.

It has a function `run`, which takes the operands of the layer's signature and returns its outputs.
Floats are computed in float32, and rounded at the end.
"""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np

from benanza.tasks.references.expressions import Expression
from benanza.tasks.references.in_numpy import NUMPY
from benanza.tasks.references.in_torch import TORCH
from benanza.tasks.references.operation import (
    NoReferenceError,
    ReferredOperation,
    operations,
    written,
)
from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_runner.submitted.signature import KernelOperand, Signature
from benanza_schemas.element_types import FLOATS
from benanza_schemas.layer import Layer

Library = Literal["numpy", "torch"]

MOST_VALUES = 4096
"""So many elements of a constant may be written out."""

_IN = {"numpy": NUMPY, "torch": TORCH}
_INDENT = "    "


def reference(layer: Layer, signature: Signature, library: Library) -> str:
    """The source of a module for a layer in the types of its precision. Raises `NoReferenceError`
    that names the operator which can't be written.
    """
    names = {index: f"v{index}" for index in range(len(layer.tensors))}
    operands = (*signature.inputs, *signature.outputs)
    names |= {operand.index: operand.name for operand in operands}
    lines = [line for each in operations(layer, names) for line in _lines(each, names, library)]
    body = "\n".join(lines)
    used = set(re.findall(r"\b\w+\b", body))
    before = [
        *(_widened(operand, library) for operand in signature.inputs if operand.dtype in FLOATS),
        *(
            f"{names[index]} = {_literal(layer, index, library, signature.inputs[0].name)}"
            for index in layer.inputs()
            if layer.tensors[index].value is not None and names[index] in used
        ),
    ]
    after = [_rounded(operand, library) for operand in signature.outputs]
    parameters = ", ".join(operand.name for operand in signature.inputs)
    helpers = _helpers(body, library)
    imports = ["import math\n", "import numpy as np"] if library == "numpy" else ["import torch"]
    if any(operand.dtype == "bfloat16" for operand in operands) and library == "numpy":
        imports.insert(1, "import ml_dtypes")
    inside = [_INDENT + line for line in filter(None, (*before, *lines))]
    returned = f"{_INDENT}return {', '.join(after)}"
    run = "\n".join([f"def run({parameters}):", *inside, returned])
    title = f'"""{layer.title()}, computed in float32."""'
    return "\n\n\n".join(["\n\n".join([title, "\n".join(imports)]), *helpers, run]) + "\n"


def _lines(operation: ReferredOperation, names: Mapping[int, str], library: Library) -> list[str]:
    operator = operation.operator
    expression: Expression | None = _IN[library].get(operator.op_type)
    if operator.domain or expression is None:
        where = f" of {operator.domain}" if operator.domain else ""
        raise NoReferenceError(f"{operator.op_type}{where} isn't written in {library}")
    found = written(operator)
    if len(found) > 1 and operator.op_type != "Split":
        raise NoReferenceError(f"{operator.op_type} has several results")
    if len(found) == 1 and operator.op_type != "Split":
        return [f"{names[found[0]]} = {expression(operation)}"]
    return [f"{', '.join(names[index] for index in found)}, = {expression(operation)}"]


def _widened(operand: KernelOperand, library: Library) -> str:
    if operand.dtype == "float32":
        return ""
    widened = "astype(np.float32)" if library == "numpy" else "float()"
    return f"{operand.name} = {operand.name}.{widened}"


def _rounded(operand: KernelOperand, library: Library) -> str:
    dtype = {"bool": "bool_"}.get(operand.dtype, operand.dtype)
    if library == "torch":
        return f"{operand.name}.to(torch.{operand.dtype})"
    return f"{operand.name}.astype({'ml_dtypes' if dtype == 'bfloat16' else 'np'}.{dtype})"


def _literal(layer: Layer, index: int, library: Library, device_of: str) -> str:
    tensor = layer.tensors[index]
    assert tensor.value is not None, "its elements are known"
    elements = np.frombuffer(tensor.value, numpy_dtype(tensor.dtype))
    if elements.size > MOST_VALUES:
        raise NoReferenceError(f"{layer.title()} has a constant of {elements.size:,} elements")
    floats = tensor.dtype in FLOATS
    dtype = "float32" if floats else {"bool": "bool_"}.get(tensor.dtype, tensor.dtype)
    values = elements.astype(np.float64).tolist() if floats else elements.tolist()
    text = _exact(values if tensor.shape else values[0])
    if library == "torch":
        name = "bool" if tensor.dtype == "bool" else dtype
        where = f"dtype=torch.{name}, device={device_of}.device"
        return f"torch.tensor({text}, {where}).reshape({tensor.shape})"
    return f"np.array({text}, np.{dtype}).reshape({tensor.shape})"


def _exact(values: object) -> str:
    return repr(values).replace("inf", "float('inf')").replace("nan", "float('nan')")


def _helpers(body: str, library: Library) -> list[str]:
    """The sources of the functions that are called, and of those that these call."""
    known = _sources(library)
    wanted: set[str] = set()

    def want(text: str) -> None:
        for name, source in known.items():
            if name not in wanted and re.search(rf"\b{name}\(", text):
                wanted.add(name)
                want(source.partition("\n")[2])

    want(body)
    return [source for name, source in known.items() if name in wanted]


def _sources(library: Library) -> dict[str, str]:
    """The functions of a file that isn't imported: PyTorch may not be there."""
    path = Path(__file__).with_name(f"{library}_helpers.py")
    text = path.read_text(encoding="utf-8")
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return {node.name: ast.get_source_segment(text, node) or "" for node in functions}
