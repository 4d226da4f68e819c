"""Integers of 64 bits, of which OpenVINO's CPU plugin computes and moves 32 alone."""

from benanza_runner.onnx_layers.onnx_schemas import formal_types
from benanza_schemas.layer import OMITTED, Layer

WIDE = frozenset({"int64", "uint64"})

_OF_PLACES = frozenset({"int32", "int64"})
"""What is one of these by its operator's definition is an index, an axis or a size. So are results
of int64 alone, as those of an ArgMax.
"""


def why_too_wide(layer: Layer) -> str:
    """Why results would be wrong for large integers; empty if there are none. Places in tensors are
    none: they fit into 32 bits.
    """
    for operator in layer.operators:
        for output, indices in ((False, operator.inputs), (True, operator.outputs)):
            for slot, index in enumerate(indices):
                if index == OMITTED or layer.tensors[index].dtype not in WIDE:
                    continue
                types = formal_types(operator, slot, output=output)
                if types is None or not types <= _OF_PLACES:
                    return (
                        f"OpenVINO computes {layer.tensors[index].dtype} in 32 bits, which is "
                        "wrong for large numbers"
                    )
    return ""
