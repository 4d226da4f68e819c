"""Each plan for a mixture of experts makes what the mixture is, with kernels for this processor."""

from pathlib import Path

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import MixtureOfExperts
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.kernels.experts.plans import plans
from benanza_runner.cuda.kernels.experts.steps import ALIGNMENT, scratch
from benanza_runner.cuda.lowering.lower import lower
from benanza_runner.cuda.reference import reference
from benanza_runner.cuda.workspace import Workspace
from benanza_runner.onnx_layers.precision import retyped
from benanza_schemas.element_types import PRECISIONS
from benanza_schemas.layer import Precision
from tests.runner.cuda.kernels.experts.emulated import run
from tests.runner.cuda.layers.experts import MIXTURES

pytestmark = [pytest.mark.integration, pytest.mark.needs_program("c++")]


def aligned(size: int) -> tuple[Array, int]:
    """So many bytes of memory, of which nothing is a number, and where they begin."""
    room = np.full(size + ALIGNMENT, 0xFF, np.uint8)
    return room, room.ctypes.data + -room.ctypes.data % ALIGNMENT


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("experts of a row", "fp16"),
        ("experts with swiglu", "fp32"),
        ("experts of a prompt with swiglu", "bf16"),
        ("packed experts of a row with a gate", "bf16"),
        ("packed experts by row with zero points", "fp16"),
        ("packed experts of a prompt, eight bits", "bf16"),
    ],
)
def test_each_makes_the_mixture(name: str, precision: Precision, tmp_path: Path) -> None:
    layer = retyped(MIXTURES[name], "fp32")
    values, (expected,) = reference(layer, precision, threads=1)
    workspace = Workspace(lower(layer, values), precision, DeviceMemory(np))
    call = workspace.call
    assert isinstance(call, MixtureOfExperts)
    result = workspace.result(call.output)
    starts, size = scratch(call, precision)
    found = list(plans(workspace, call, result))
    assert found
    for plan in found:
        result.poison()
        memory, first = aligned(size)
        addresses = {part: np.uint64(first + start) for part, start in starts.items()}
        for step in plan.steps:
            run(step, step.arguments(addresses), precision, tmp_path)
        error = np.linalg.norm(result.floats() - expected) / np.linalg.norm(expected)
        assert error < PRECISIONS[precision].tolerance, plan.name
        del memory
