"""Products with constant weights: by columns, which give each rank some of the results, and by
rows, of which each rank has a part of the sums.
"""

from benanza_ingest.deriving.parallel.along import CannotKeepError, Segments
from benanza_ingest.deriving.parallel.reading import Reading
from benanza_ingest.resolving.graph import Node

_PRODUCTS = {("", "MatMul"): 2, ("", "Gemm"): 3, ("com.microsoft", "MatMulNBits"): 6}
"""Products that may have weights as their second input, and how many inputs are known of each."""

PACKED_BIAS, GEMM_BIAS = 5, 2

BITS_OF_BYTE = 8


def may_be_product(node: Node) -> bool:
    """Whether a node may be a product with weights, by its operator."""
    return (node.domain, node.op_type) in _PRODUCTS


def by_columns(reading: Reading, starts: tuple[int, ...]) -> None:
    """Splits the weights and the result along the result's columns, whose segments begin at
    `starts`.

    Raises `CannotKeepError` if it isn't possible.
    """
    _check(reading)
    columns = reading.result()[-1]
    ends = (*starts[1:], columns)
    segments = tuple(end - start for start, end in zip(starts, ends, strict=True))
    match reading.node.op_type:
        case "MatMul":
            reading.need(1, 1, segments)
        case "Gemm":
            reading.need(1, 0 if reading.attribute("transB", 0) else 1, segments)
            if (
                reading.has(GEMM_BIAS)
                and (shape := reading.shape(GEMM_BIAS))[-1:] != (1,)
                and shape
            ):
                reading.need(GEMM_BIAS, len(shape) - 1, segments)
        case _:
            reading.divide("N")
            reading.need(1, 0, segments)
            for slot in (2, 3):
                if reading.has(slot):
                    step = reading.shape(slot)[0] // columns
                    reading.need(slot, 0, tuple(size * step for size in segments))
            reading.need(PACKED_BIAS, 0, segments)
    reading.keep(len(reading.result()) - 1, segments, scale=1)


def by_rows(reading: Reading) -> int:
    """Splits the weights along the rows that belong to the rank's part of the first input.

    Returns the position of a bias, which isn't part of the sums; 0 if there is none. Raises
    `CannotKeepError` if it isn't possible.
    """
    _check(reading)
    state = reading.split()
    match reading.node.op_type:
        case "MatMul":
            reading.need(1, 0, state.segments)
            return 0
        case "Gemm":
            reading.need(1, 1 if reading.attribute("transB", 0) else 0, state.segments)
            if reading.has(GEMM_BIAS) and reading.attribute("beta", 1.0) != 1.0:
                raise CannotKeepError("its bias has a factor")
            return GEMM_BIAS if reading.has(GEMM_BIAS) else 0
        case _:
            _packed_rows(reading, state.segments)
            return PACKED_BIAS if reading.has(PACKED_BIAS) else 0


def _check(reading: Reading) -> None:
    node = reading.node
    known = _PRODUCTS[node.domain, node.op_type]
    if any(reading.has(slot) for slot in range(known, len(node.inputs))):
        raise CannotKeepError("it has inputs that aren't known")
    if node.op_type == "MatMulNBits" and reading.has(4):
        raise CannotKeepError("its rows are in an order of their own")
    if node.op_type != "MatMulNBits" and len(reading.shape(1)) != 2:
        raise CannotKeepError("its weights are several matrices")
    if node.op_type == "Gemm" and reading.attribute("transA", 0):
        raise CannotKeepError("its first input is transposed")


def _packed_rows(reading: Reading, segments: Segments) -> None:
    """Weights are packed row by row of (columns, blocks, bytes); scales and zero points lie by
    columns and blocks, as one axis or two.
    """
    block, bits = reading.attribute("block_size", 0), reading.attribute("bits", 4)
    if any(size % (block * reading.ranks) for size in segments):
        raise CannotKeepError(f"a rank's rows are no whole blocks of {block}")
    reading.divide("K")
    blocks = tuple(size // block for size in segments)
    columns = reading.result()[-1]
    reading.need(1, 1, blocks)
    for slot in (2, 3):
        if not reading.has(slot):
            continue
        shape = reading.shape(slot)
        stored = shape[-1] if len(shape) > 1 else shape[0] // columns
        if any(size * stored % (sum(blocks) * reading.ranks) for size in blocks):
            raise CannotKeepError(f"zero points of {bits} bits of a rank share bytes with others")
        parts = tuple(size * stored // sum(blocks) for size in blocks)
        if len(shape) > 1:
            reading.need(slot, 1, parts)
        else:
            reading.need(slot, 0, parts * columns)
