"""QuantizeLinear and DequantizeLinear with scales by block, and of weights in few bits."""

from benanza_schemas.layer import Layer, Tensor
from tests.runner.layers import floats, single, weights


def dequantised(
    dtype: str,
    shape: tuple[int, ...],
    scales: tuple[int, ...],
    *,
    block: int = 0,
    axis: int = 0,
    zeros: bool = False,
    constant: bool = True,
) -> Layer:
    """DequantizeLinear with so many scales, and as many zero points."""
    of = [Tensor(dtype, shape, constant=constant), weights(*scales)]
    of += [Tensor(dtype, scales, constant=True)] if zeros else []
    more = {"axis": axis, "block_size": block}
    version = 25 if dtype.endswith("int2") else 21
    return single("DequantizeLinear", version, tuple(of), (floats(*shape),), "", **more)


def quantised(dtype: str, shape: tuple[int, ...], scales: tuple[int, ...], block: int) -> Layer:
    """QuantizeLinear of what is computed, along the last axis, with zero points."""
    of = (floats(*shape), weights(*scales), Tensor(dtype, scales, constant=True))
    more = {"axis": -1, "block_size": block}
    return single("QuantizeLinear", 21, of, (Tensor(dtype, shape),), "", **more)


SCALED_BLOCKS = {
    "dequantised filters of four bits": dequantised("int4", (6, 5, 3, 3), (6,), zeros=True),
    "dequantised weights of four bits": dequantised("uint4", (7, 9), ()),
    "dequantised blocks of four bits": dequantised("uint4", (32, 9), (2, 9), block=16, zeros=True),
    "dequantised blocks of two bits": dequantised("int2", (9, 32), (9, 2), block=16, axis=1),
    "dequantised blocks of bytes": dequantised(
        "int8", (3, 32, 5), (3, 2, 5), block=16, axis=1, zeros=True, constant=False
    ),
    "dequantised blocks of float8": dequantised("float8e4m3fn", (32, 9), (2, 9), block=16),
    "dequantised weights in float8e5m2": dequantised("float8e5m2", (8, 32), (32,), axis=1),
    "quantised blocks": quantised("int8", (3, 5, 64), (3, 5, 4), 16),
}
