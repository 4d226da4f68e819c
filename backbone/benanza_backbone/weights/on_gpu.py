"""Shared weights on a GPU, as libraries for GPUs take them."""

from typing import Any, NamedTuple

from benanza_backbone.weights.lease import LeaseError, SharedWeights
from benanza_schemas.element_types import FROM_ONNX


class GpuArray(NamedTuple):
    """A weight on the GPU, for `torch.as_tensor`, `cupy.asarray` and all else that takes the CUDA
    array interface. It is valid within the lease, and can't be written.
    """

    address: int
    element_type: str
    dims: tuple[int, ...]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        import numpy as np

        return {
            "shape": self.dims,
            "typestr": np.dtype(self.element_type).str,
            "data": (self.address, False),  # PyTorch takes no array that says it is read-only
            "version": 3,
        }


def gpu_arrays(weights: SharedWeights) -> dict[str, GpuArray]:
    """The packed weights by name. Types that NumPy lacks are numbers of their width.

    Raises `LeaseError` if the lease isn't one on a GPU.
    """
    if weights.gpu is None:
        raise LeaseError("these weights aren't on a GPU; lease them with gpu=0")
    return {
        weight.name: GpuArray(
            weights.gpu.address + weight.offset,
            _NUMBERS.get(FROM_ONNX[weight.onnx_type], FROM_ONNX[weight.onnx_type]),
            weight.dims,
        )
        for weight in weights.index.weights
    }


_NUMBERS = {
    "bfloat16": "uint16",
    **dict.fromkeys(
        ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"), "uint8"
    ),
}
