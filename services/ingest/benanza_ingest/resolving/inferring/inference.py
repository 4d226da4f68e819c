"""Shape inference for one node, with the elements of its static inputs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, TypeProto, numpy_helper, shape_inference
from onnx.defs import OpSchema

from benanza_ingest.reading.parse import MAX_AXES, opset_imports, subgraphs
from benanza_ingest.resolving.inferring.axes import GROWING, UNBOUNDED, AxesBound, axes_of
from benanza_ingest.resolving.inferring.corrections import corrected
from benanza_ingest.resolving.inferring.function_bodies import has_only_a_body, infer_by_body
from benanza_ingest.resolving.onnxruntime_operators.results import RULES, results
from benanza_ingest.resolving.operators import schema
from benanza_ingest.resolving.types import TensorType, Types, from_proto, tensor_type
from benanza_schemas.operators.onnxruntime import is_own_operator

_MAX_COMPLAINT = 200
_TAGS = re.compile(r"\[\w+Error\] |\(op_type:.*?\): ")
"""Prefixes of onnx's error messages."""


class Inference:
    """Infers the types of single nodes' outputs, and adds them to the types of a graph's values.

    `complaints` holds what is wrong with a node, as one line, by the names of the node's outputs.
    """

    def __init__(self, model: ModelProto, types: Types) -> None:
        self._types = types
        self._opsets = list(model.opset_import)
        self._opset = opset_imports(model)
        self._ir_version = model.ir_version
        self.complaints: dict[str, str] = {}

    def infer(
        self,
        node: NodeProto,
        inputs: Sequence[str],
        values: Mapping[str, npt.NDArray[Any] | None],
    ) -> None:
        """Infers the types of a node's outputs from those of its inputs.

        `inputs` are the names of the inputs, with aliases resolved; `values` holds the elements of
        those that are known. Types that can't be inferred stay as they are: layers that need them
        are skipped.
        """
        types: dict[str, TypeProto] = {}
        data: dict[str, TensorProto] = {}
        for name in filter(None, inputs):
            known = self._types.get(name)
            if known is None:
                return
            types[name] = self._types.proto(known)
            value = values.get(name)
            if value is not None:
                data[name] = numpy_helper.from_array(np.asarray(value), name)
        renamed = node
        if node.input != list(inputs):
            renamed = NodeProto()
            renamed.CopyFrom(node)
            renamed.input[:] = inputs
        domain = "" if node.domain == "ai.onnx" else node.domain
        definition = schema(node.op_type, domain, self._opset.get(domain))
        if definition is None:
            return
        if (domain, node.op_type) in RULES or is_own_operator(node.op_type, domain):
            self._infer_own(definition, renamed, values)
            return
        if any(subgraphs(node)):
            return
        if node.op_type in GROWING and not domain:
            bounds = [self._bound(name, values.get(name)) for name in inputs]
            axes = axes_of(node, bounds)
            if axes > MAX_AXES:
                if axes < UNBOUNDED:  # else how many isn't known
                    self._complain(node, f"its result would have more than {MAX_AXES} axes")
                return
        try:
            if has_only_a_body(definition):
                outputs = infer_by_body(definition, renamed, types, self._opsets)
            else:
                outputs = shape_inference.infer_node_outputs(
                    definition, renamed, types, data, None, self._opsets, self._ir_version
                )
        except Exception as error:  # noqa: BLE001  onnx raises many types, with a message that says what is wrong
            self._complain(node, str(error))
            return
        for name, inferred in outputs.items():
            sizes = [dim.dim_value for dim in inferred.tensor_type.shape.dim]
            if min(sizes, default=0) < 0:
                self._complain(node, f"its result would have the sizes {sizes}")
            known = from_proto(inferred)
            if name == node.output[0] and not domain:
                known = self._corrected(renamed, known, values)
            if node.op_type == "GatherND" and self._gathers_scalar(renamed):
                known = tensor_type(known.dtype, ()) if known else None
            if known is not None and _says_more(known, self._types.get(name)):
                self._types[name] = known

    def _infer_own(
        self,
        definition: OpSchema,
        node: NodeProto,
        values: Mapping[str, npt.NDArray[Any] | None],
    ) -> None:
        """Infers the types of the outputs of an operator of ONNX Runtime's own."""
        known = [self._types.get(name) for name in node.input]
        if any(input_type is not None and not input_type.resolved for input_type in known):
            return
        try:
            outputs = results(definition, node, known, [values.get(name) for name in node.input])
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            self._complain(node, str(error))
            return
        for name, inferred in outputs.items():
            sizes = inferred.dims()
            if min(sizes, default=0) < 0 or len(sizes) > MAX_AXES:
                self._complain(node, f"its result would have the sizes {sizes}")
            elif _says_more(inferred, self._types.get(name)):
                self._types[name] = inferred

    def _corrected(
        self,
        node: NodeProto,
        known: TensorType | None,
        values: Mapping[str, npt.NDArray[Any] | None],
    ) -> TensorType | None:
        given = self._types.get(node.input[0]) if node.input else None
        if known is None or given is None or not given.resolved:
            return known
        try:
            right = corrected(node, given.dims(), [values.get(name) for name in node.input])
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            self._complain(node, str(error))
            return None
        return known if right is None else tensor_type(known.dtype, right)

    def _gathers_scalar(self, node: NodeProto) -> bool:
        """Whether a GatherND's result has no axes: onnx (1.23) infers no shape then."""
        data, indices = map(self._types.get, node.input)
        if data is None or indices is None or not data.shape or not indices.shape:
            return False
        return len(indices.shape) == 1 and indices.shape[0] == len(data.shape)

    def _bound(self, name: str, value: npt.NDArray[Any] | None) -> AxesBound:
        known = self._types.get(name)
        if value is not None:
            return AxesBound(value.ndim, value.size)
        if known is None or known.shape is None:
            return AxesBound(0)
        return AxesBound(len(known.shape), known.elements() if known.resolved else None)

    def _complain(self, node: NodeProto, complaint: str) -> None:
        line = " ".join(_TAGS.sub("", complaint).split())[:_MAX_COMPLAINT]
        self.complaints.update(dict.fromkeys(node.output, line))


def _says_more(new: TensorType, old: TensorType | None) -> bool:
    if old is None or old.shape is None:
        return True
    return new.resolved and not old.resolved
