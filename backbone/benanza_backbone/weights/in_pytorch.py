"""Shared weights as tensors of PyTorch, on the memory where they are."""

import warnings
from math import prod
from typing import Any

import torch

from benanza_backbone.weights.lease import SharedWeights
from benanza_schemas.element_types import FROM_ONNX


def tensors(weights: SharedWeights) -> dict[str, Any]:
    """The packed weights by name, for `load_state_dict(…, assign=True)` and the like.

    They can't be written: the system ends a process that tries.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given buffer is not writable")
        return {
            weight.name: torch.frombuffer(
                weights.memory,
                dtype=getattr(torch, FROM_ONNX[weight.onnx_type].replace("float8e", "float8_e")),
                count=prod(weight.dims),
                offset=weight.offset,
            ).reshape(weight.dims)
            for weight in weights.index.weights
        }
