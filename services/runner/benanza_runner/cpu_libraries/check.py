"""Is what a library on the CPU computed right?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benanza_runner.arrays import Array
from benanza_runner.cuda.reference import Reference
from benanza_runner.measuring.error import ROUNDED, wrong
from benanza_runner.onnx_layers.layer_model import LayerModel
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import OMITTED, Layer, Precision

ROUNDING = "Quantize", "QLinear", "QGemm", "QAttention"

DOUBLE = 1e-9
"""The tolerance of float64: OpenVINO computes such in float32, which is off by 2e-8 and more."""


def given_as_known(model: LayerModel, known: Reference) -> LayerModel:
    """The model with the inputs and weights of which the reference was computed."""

    def same(arrays: Mapping[str, Array]) -> dict[str, Array]:
        return {
            name: np.ascontiguousarray(known.values[int(name.removeprefix("t"))], array.dtype)
            for name, array in arrays.items()
        }

    return replace(model, constants=same(model.constants), inputs=same(model.inputs))


def why_wrong(
    results: Mapping[str, Array], expected: Sequence[Array], layer: Layer, precision: Precision
) -> str:
    """Why these results, by the names that the model of the layer has for them, aren't right; an
    empty string if they are.

    The error is ‖result − expected‖ / ‖expected‖, the tolerance that of the precision; what is
    computed in float64 has one of its own. Integers are exact up to the tolerance of fp32, unless
    they were rounded: then a few of 8 bits may be the next ones. Of shapes only the size counts:
    the rest is a view.
    """
    for index, wanted in zip(layer.outputs, expected, strict=True):
        result = results[f"t{index}"]
        if result.size != wanted.size:
            return f"wrong result: it has the shape {result.shape} and not {wanted.shape}"
        reason = wrong(
            relative_error(result.reshape(wanted.shape), wanted), _allowed(layer, index, precision)
        )
        if reason:
            return reason
    return ""


def relative_error(result: Array, wanted: Array) -> float:
    """‖result − wanted‖ / ‖wanted‖; of what should be zeros it is infinite if they aren't."""
    wide = wanted.dtype.kind in "iu" or wanted.dtype == np.float64
    exact = np.float64 if wide else np.float32
    result, wanted = result.astype(exact), wanted.astype(exact)
    with np.errstate(invalid="ignore"):  # of infinities
        difference = np.where(result == wanted, 0, result - wanted)
    norm = float(np.linalg.norm(wanted[np.isfinite(wanted)]))
    return float(np.linalg.norm(difference)) / max(norm, float(np.finfo(np.float32).tiny))


def _allowed(layer: Layer, index: int, precision: Precision) -> float:
    allowed, exact = PRECISIONS[precision].tolerance, PRECISIONS["fp32"].tolerance
    dtype = layer.tensors[index].dtype
    if "float" in dtype:
        return DOUBLE if _floats_computed(layer) == {"float64"} else allowed
    rounds = any(operator.op_type.startswith(ROUNDING) for operator in layer.operators)
    return max(ROUNDED, allowed) if rounds and dtype in ("int8", "uint8") else exact


def _floats_computed(layer: Layer) -> set[str]:
    """The types of floats that the layer's operators write."""
    written = (i for operator in layer.operators for i in operator.outputs if i != OMITTED)
    return {layer.tensors[i].dtype for i in written if "float" in layer.tensors[i].dtype}
