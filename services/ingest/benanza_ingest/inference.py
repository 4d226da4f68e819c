"""Shape inference for one node, with the elements of those of its inputs that are static."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import ModelProto, NodeProto, TensorProto, TypeProto, numpy_helper, shape_inference

from benanza_ingest.parse import opset_imports, subgraphs
from benanza_ingest.types import TensorType, Types, from_proto


class Inference:
    """Adds what follows for the outputs of single nodes to the types of a graph's values."""

    def __init__(self, model: ModelProto, types: Types) -> None:
        self._types = types
        self._opsets = list(model.opset_import)
        self._opset = opset_imports(model)
        self._ir_version = model.ir_version

    def infer(
        self,
        node: NodeProto,
        inputs: Sequence[str],
        values: Mapping[str, npt.NDArray[Any] | None],
    ) -> None:
        """Takes in what a node says of its outputs, from the types of what it reads.

        `inputs` are the names of that, aliases resolved; `values` has the elements of those
        that are known. What can't be inferred stays as it is: layers that need it are skipped.
        """
        if any(subgraphs(node)):
            return
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
        renamed = NodeProto()
        renamed.CopyFrom(node)
        del renamed.input[:]
        renamed.input.extend(inputs)
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            schema = onnx.defs.get_schema(node.op_type, self._opset[domain], domain)
            found = shape_inference.infer_node_outputs(
                schema, renamed, types, data, None, self._opsets, self._ir_version
            )
        except Exception:  # noqa: BLE001  what can't be inferred stays unknown, and is skipped
            return
        for name, inferred in found.items():
            known = from_proto(inferred)
            if known is not None and _says_more(known, self._types.get(name)):
                self._types[name] = known


def _says_more(new: TensorType, old: TensorType | None) -> bool:
    if old is None or old.shape is None:
        return True
    return new.resolved and not old.resolved
