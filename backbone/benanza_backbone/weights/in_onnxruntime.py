"""ONNX Runtime over shared weights, on the memory where they are.

The weights are inputs of the graph, not initializers. Of those that ONNX Runtime 1.31 takes from
outside, `add_external_initializers` copies them, and so do its memory-mapped files where they have
no path; `add_initializer` doesn't, but graph optimisations then read what stands in the file.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import onnxruntime as ort

from benanza_backbone.errors import BenanzaError
from benanza_backbone.weights.lease import SharedWeights


class SharedSession:
    """A model on the CPU with weights of the store. `session` is ONNX Runtime's own, of which the
    weights are inputs as well.

    Raises `BenanzaError` if ONNX Runtime needs constants in their place.
    """

    def __init__(self, weights: SharedWeights, options: ort.SessionOptions | None = None) -> None:
        try:
            self.session = ort.InferenceSession(
                weights.model, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # ONNX Runtime's errors share no narrower base
            raise BenanzaError(
                f"ONNX Runtime doesn't run the model with shared weights ({error}); run it from "
                "its file"
            ) from error
        kinds = {weight.name: weight.onnx_type for weight in weights.index.weights}
        self._weights = {
            name: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array, kinds[name])
            if array.dtype.isbuiltin != 1
            else ort.OrtValue.ortvalue_from_numpy(array)
            for name, array in weights.arrays.items()
        }

    def run(self, outputs: Sequence[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """The outputs of these names, all for None, as arrays; `inputs` are arrays by name."""
        given = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
        found = self.session.run_with_ort_values(outputs, self._weights | given)
        return [value.numpy() for value in found]
