"""Parameters of quantised models are those of what was quantised, and the numbers of each block."""

import random

import numpy as np
import pytest

from benanza_ingest.extract import extract, extract_with_summary
from benanza_ingest.limits import Limits
from tests.ingest.onnx_text import content
from tests.ingest.resolving.onnxruntime_operators.cases import CASES
from tests.ingest.resolving.onnxruntime_operators.test_results import model_of

OWN = {"com.microsoft": 1}


@pytest.mark.parametrize("seed", range(20))
def test_of_a_product_that_onnx_runtime_runs(seed: int) -> None:
    """Also where the last block of a column isn't full, with and without zero points."""
    case = CASES["MatMulNBits"](random.Random(seed))
    weights = tuple(range(1, len(case.inputs)))
    model, _ = model_of("MatMulNBits", case._replace(constants=weights))
    found = extract_with_summary(model.SerializeToString(), batch=None, dims={}, limits=Limits())
    k, n, block = (case.attributes[name] for name in ("K", "N", "block_size"))
    blocks = n * -(-k // block)
    assert found.parameters == k * n + blocks * (len(weights) - 1)
    assert [layer.parameters for layer in found.model.layers] == [found.parameters]


@pytest.mark.parametrize(
    ("node", "inputs", "numbers"),
    [
        (
            "GatherBlockQuantized <gather_axis = 0, quantize_axis = 1, block_size = 16, bits = 4>"
            " (w, i, s)",
            "uint8[2,8] w, float[2,1] s",
            2 * 16 + 2,
        ),
        (
            "QMoE <k = 1, expert_weight_bits = 4, fc2_expert_weight_bits = 8> (x, r, w, s, , v, t)",
            "uint8[2,1,2] w, float[2,1] s, uint8[2,4,1] v, float[2,4] t",
            2 * 4 + 2 + 2 * 4 + 2 * 4,
        ),
        (
            "MatMulBnb4 <K = 4, N = 3, block_size = 16, quant_type = 0> (x, w, s)",
            "uint8[6] w, float[1] s",
            4 * 3 + 1,
        ),
        ("MatMulFpQ4 <blk_quant_type = 1> (x, w, n)", "uint8[20] w, int64[2] n", 4 * 3),
        (
            "MatMulNBitsMlp <K = 4, N = 3, bits = 4, block_size = 32> (x, , , w, s, , w, s)",
            "uint8[3,1,16] w, float[3,1] s",
            4 * 3 + 3,
        ),
    ],
)
def test_of_other_operators(node: str, inputs: str, numbers: int) -> None:
    """A weight that is read twice counts once in a layer, too."""
    constants = []
    for each in inputs.split(", "):
        kind, name = each.split(" ")
        shape = [int(size) for size in kind.split("[")[1][:-1].split(",")]
        ones = ["4", "3"] if kind == "int64[2]" else ["1"] * int(np.prod(shape))
        constants.append(f"{kind} {name} = {{{', '.join(ones)}}}")
    text = f"""g (float[3,4] x, float[3,2] r, int64[5] i) => (y) <{", ".join(constants)}> {{
        y = com.microsoft.{node} }}"""
    (layer,) = extract(content(text, 21, OWN)).layers
    assert layer.parameters == numbers


def test_what_no_size_can_be_is_a_skipped_layer() -> None:
    weights = f"uint8[2,1,2] w = {{{', '.join('1' * 4)}}}"
    text = f"""g (float[3,4] x, float[3,2] r, float[2,1] s) => (y) <{weights}> {{
        y = com.microsoft.QMoE <k = 1, expert_weight_bits = -4> (x, r, w, s, , w, s) }}"""
    (layer,) = extract(content(text, 21, OWN)).layers
    assert (layer.kind, layer.parameters) == ("skipped", 0)
