"""Rows of tables of integers in blocks: ONNX Runtime's GatherBlockQuantized."""

from benanza_schemas.layer import AttributeValue, Layer, Tensor
from tests.runner.layers import single, weights

Shape = tuple[int, ...]


def gathered(
    dtype: str,
    shape: Shape,
    *,
    bits: int = 4,
    zeros: bool = False,
    axis: int = 1,
    block: int = 32,
    indices: Shape = (2, 3),
    constant: bool = True,
    **more: AttributeValue,
) -> Layer:
    """Rows of a table of this shape, with scales, and zero points, of blocks along an axis."""
    per_byte = 8 // bits if dtype == "uint8" else 1
    whole = (*shape[:-1], shape[-1] // per_byte)
    blocks = (*shape[:axis], -(-shape[axis] // block), *shape[axis + 1 :])
    points = (*blocks[:-1], -(-blocks[-1] // per_byte))
    of = [Tensor(dtype, whole, constant=constant), Tensor("int64", indices), weights(*blocks)]
    of += [Tensor(dtype, points, constant=True)] if zeros else []
    chosen = int(more.get("gather_axis", 0))  # type: ignore[arg-type]  # an integer
    result = Tensor("float32", (*shape[:chosen], *indices, *shape[chosen + 1 :]))
    kinds = {"bits": bits, "block_size": block, "quantize_axis": axis}
    return single("GatherBlockQuantized", 1, tuple(of), (result,), "com.microsoft", **kinds, **more)


GATHERED = {
    "gathered blocks": gathered("uint8", (40, 96)),
    "gathered blocks with zero points": gathered("uint8", (40, 96), zeros=True),
    "gathered blocks of eight bits": gathered("uint8", (40, 70), bits=8),
    "gathered blocks of eight bits with zero points": gathered(
        "uint8", (40, 96), bits=8, zeros=True
    ),
    "gathered blocks of two bits": gathered("uint8", (40, 96), bits=2, zeros=True),
    "gathered blocks, the last one short": gathered("uint8", (40, 70), zeros=True),
    "gathered blocks of a token": gathered("uint8", (300, 256), indices=(1, 1), block=128),
    "gathered blocks of signed numbers": gathered("int4", (40, 75), zeros=True),
    "gathered blocks of numbers": gathered("uint4", (40, 64)),
    "gathered blocks of columns": gathered(
        "int4", (40, 6, 8), axis=0, gather_axis=2, block=16, zeros=True
    ),
    "gathered blocks along an outer axis": gathered("uint4", (5, 40, 9), block=16, zeros=True),
    "gathered blocks of signed numbers around zero": gathered("int4", (40, 64)),
}
