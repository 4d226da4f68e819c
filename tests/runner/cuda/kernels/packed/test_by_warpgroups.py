"""Products by warpgroups on a GPU: each tiling is right for full and for partial tiles."""

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.cuda.calls import PackedProduct
from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.device_memory import DeviceMemory
from benanza_runner.cuda.lowering.lower import Lowered
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.layer import Precision
from tests.runner.cuda.in_numpy.calls import packed_product
from tests.runner.cuda.kernels.source.packed_operands import floats, sixteen_bits


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp16", "bf16"])
@pytest.mark.parametrize(
    ("sizes", "bits", "block", "zeros", "bias"),
    [
        # Rows, columns, and elements of a sum.
        ((16, 512, 1024), 4, 32, False, False),
        ((33, 77, 264), 4, 32, True, True),
        ((64, 640, 2056), 4, 128, False, True),
        ((100, 130, 456), 4, 16, True, False),
        ((128, 1024, 1024), 4, 32, True, False),
        ((129, 513, 840), 4, 256, True, False),
        ((256, 768, 1024), 4, 64, False, False),
        ((300, 260, 512), 4, 32, False, True),
        ((128, 513, 1024), 8, 32, False, True),
        ((40, 768, 2056), 8, 128, True, False),
    ],
)
def test_each_tiling_is_right(
    sizes: tuple[int, int, int],
    bits: int,
    block: int,
    zeros: bool,
    bias: bool,
    precision: Precision,
) -> None:
    reason = why_unavailable()
    if reason is not None:
        pytest.skip(f"the GPU runtime {reason}")
    import cupy

    from benanza_runner.cuda.kernels.packed.by_warpgroups import OLDEST, PackedByWarpgroups

    if int(cupy.cuda.Device().compute_capability) < OLDEST:
        pytest.skip("the GPU has older Tensor Cores")
    m, n, k = sizes
    call = PackedProduct((m, n), m, n, k, bits, block, zeros, bias=bias)
    random = np.random.default_rng(5)

    def rounded(least: float, *shape: int) -> Array:
        return floats(sixteen_bits(random.uniform(least, 1, shape), precision), precision)

    operands = {
        "a": rounded(-1, m, k),
        "b": random.integers(0, 256, (n, call.blocks, block * bits // 8), np.uint8),
        "scales": rounded(0.5, n, call.blocks),
    }
    if zeros:
        operands["zeros"] = random.integers(0, 256, (n, -(-call.blocks * bits // 8)), np.uint8)
    if bias:
        operands["bias"] = rounded(-1, n)
    lowered = Lowered(call, operands, frozenset(operands) - {"a"})
    offered = list(
        PackedByWarpgroups().candidates(Workspace(lowered, precision, DeviceMemory(cupy)))
    )
    assert offered
    expected = packed_product(call, operands)
    last_place = 2.0 ** (-10 if precision == "fp16" else -7)
    for candidate in offered:
        assert isinstance(candidate, Candidate)
        candidate.prepare()
        candidate.result.poison()
        candidate.run()
        found = candidate.result.floats().get().reshape(m, n)
        error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
        assert error < last_place, candidate.algorithm
