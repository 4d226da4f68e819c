"""How far a result may be off."""

import numpy as np
import pytest

from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import random_inputs
from benanza_runner.cuda.search.check import tolerance
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.measuring.error import ROUNDED
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Layer, Tensor
from tests.runner.cuda.layers.quantised import QUANTISED
from tests.runner.layers import floats, single, weights

EXACT = PRECISIONS["fp32"].tolerance
X = floats(4, 8)
POINT = Tensor("int8", (), constant=True)


@pytest.mark.parametrize(
    ("layer", "element", "most"),
    [
        (single("Greater", 13, (X, X), (Tensor("bool", (4, 8)),)), "bool", EXACT),
        (single("Cast", 13, (X,), (Tensor("int64", (4, 8)),), "", to=7), "int64", EXACT),
        (
            single("QuantizeLinear", 13, (X, weights(), POINT), (Tensor("int8", (4, 8)),)),
            "int8",
            ROUNDED,
        ),
        (QUANTISED["quantised matmul"], "int8", ROUNDED),
        (QUANTISED["quantised matmul to floats"], "", EXACT),
    ],
)
def test_only_rounded_bytes_may_be_the_next_ones(layer: Layer, element: str, most: float) -> None:
    lowered = lower(layer, random_inputs(layer, "fp32"))
    workspace = Workspace(lowered, "fp32", DeviceMemory(np))
    result = workspace.result(layer.tensors[layer.outputs[0]].shape, None, element)
    assert tolerance(workspace, result) == most
