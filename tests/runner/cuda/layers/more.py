"""Layers that move, compare, order, reduce and normalise, and such with integers."""

import numpy as np
import onnx

from benanza_runner.onnx_layers.onnx_schemas import numpy_dtype
from benanza_schemas.element_types import TO_ONNX
from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Tensor, TensorValue
from tests.runner.layers import floats, operator, single, weights


def version(op_type: str, opset: int = 21) -> int:
    """Of an operator in an opset, or its first one if it is newer."""
    try:
        found = onnx.defs.get_schema(op_type, opset, "")
    except onnx.defs.SchemaError:
        found = onnx.defs.get_schema(op_type)
    return int(found.since_version)


def layer(
    op_type: str,
    inputs: tuple[Tensor, ...],
    *outputs: Tensor,
    opset: int = 21,
    **attributes: AttributeValue,
) -> Layer:
    """A layer of one operator as an opset has it."""
    return single(op_type, version(op_type, opset), inputs, outputs, "", **attributes)


def longs(*shape: int) -> Tensor:
    return Tensor("int64", shape)


def ints(*shape: int) -> Tensor:
    return Tensor("int32", shape)


def bools(*shape: int) -> Tensor:
    return Tensor("bool", shape)


def fixed(*numbers: float, dtype: str = "int64", scalar: bool = False) -> Tensor:
    """A constant that decides what the operator does."""
    data = np.array(numbers, numpy_dtype(dtype)).tobytes()
    return Tensor(dtype, () if scalar else (len(numbers),), True, data)


X = floats(2, 8, 9, 9)
TABLE = floats(7, 12)
ROWS = floats(3, 5, 12)
ON_OFF = fixed(-1.0, 2.0, dtype="float32")

BROADCASTS = {
    "add along axes that are apart": layer(
        "Add", (floats(2, 3, 4, 5), floats(2, 1, 4, 1)), floats(2, 3, 4, 5)
    ),
    "both sides repeated": layer("Mul", (floats(4, 1, 6), floats(1, 5, 6)), floats(4, 5, 6)),
    "outer product": layer("Mul", (floats(70, 1), floats(1, 64)), floats(70, 64)),
    "long outer product": layer("Sub", (floats(64, 1), weights(128)), floats(64, 128)),
    "where": layer("Where", (bools(3, 1, 12), ROWS, floats(5, 1)), ROWS),
    "where with scalars": layer(
        "Where", (bools(3, 5), longs(3, 5), fixed(7, scalar=True)), longs(3, 5)
    ),
    "add of integers": layer("Add", (longs(3, 5), longs(5)), longs(3, 5)),
    "div of integers": layer("Div", (ints(3, 5), ints(3, 1)), ints(3, 5)),
    "mod of integers": layer("Mod", (longs(3, 5), longs(3, 1)), longs(3, 5)),
    "clip of integers": layer(
        "Clip", (longs(3, 5), fixed(20, scalar=True), fixed(50, scalar=True)), longs(3, 5)
    ),
    "power of integers": layer("Pow", (ROWS, longs(1)), ROWS),
    "equal": layer("Equal", (longs(4, 6), longs(6)), bools(4, 6)),
    "less": layer("Less", (floats(4, 6), floats(6)), bools(4, 6)),
    "greater or equal, many": layer("GreaterOrEqual", (floats(96, 64), floats(64)), bools(96, 64)),
    "and": layer("And", (bools(4, 6), bools(6)), bools(4, 6)),
    "xor": layer("Xor", (bools(4, 6), bools(4, 1)), bools(4, 6)),
    "not": layer("Not", (bools(33),), bools(33)),
    "is nan": layer("IsNaN", (TABLE,), bools(7, 12)),
    "is inf": layer("IsInf", (TABLE,), bools(7, 12)),
    "cast to integers": layer("Cast", (TABLE,), longs(7, 12), to=TO_ONNX["int64"]),
    "cast to bytes": layer("Cast", (longs(7, 12),), Tensor("uint8", (7, 12)), to=TO_ONNX["uint8"]),
    "cast to bool": layer("Cast", (TABLE,), bools(7, 12), to=TO_ONNX["bool"]),
    "cast to floats": layer("Cast", (longs(96, 64),), floats(96, 64), to=TO_ONNX["float32"]),
    "cast of bool": layer("Cast", (bools(7, 12),), TABLE, to=TO_ONNX["float32"]),
    "cast to fewer bits": layer(
        "Cast", (TABLE,), Tensor("float16", (7, 12)), to=TO_ONNX["float16"]
    ),
    "constant of shape": layer(
        "ConstantOfShape",
        (fixed(3, 4),),
        longs(3, 4),
        value=TensorValue("int64", (1,), np.int64(5).tobytes()),
    ),
    "range": layer(
        "Range",
        (fixed(3, scalar=True), fixed(13, scalar=True), fixed(2, scalar=True)),
        longs(5),
    ),
    "eye": layer("EyeLike", (TABLE,), TABLE, k=1),
    "upper triangle": layer("Trilu", (ROWS, fixed(1, scalar=True)), ROWS),
    "lower triangle": layer("Trilu", (floats(2, 3, 16, 16),), floats(2, 3, 16, 16), upper=0),
    "one hot": layer("OneHot", (longs(4, 6), fixed(9, scalar=True), ON_OFF), floats(4, 6, 9)),
    "one hot on an axis": layer(
        "OneHot", (longs(4, 6), fixed(9, scalar=True), ON_OFF), floats(4, 9, 6), axis=1
    ),
}

UNSIGNED, SIGNED = Tensor("uint8", (2, 8, 9, 9)), Tensor("int8", (2, 8, 9, 9))
FINE, COARSE = (fixed(step, dtype="float32", scalar=True) for step in (0.004, 0.03))
STEPS = fixed(0.1, 0.02, 0.003, 0.02, 0.04, 0.007, 0.01, 0.5, dtype="float32")


def requantised() -> Layer:
    """DequantizeLinear–Relu–QuantizeLinear, each channel with a step of its own."""
    operators = (
        operator("DequantizeLinear", 21, (0, 1), (3,)),
        operator("Relu", 14, (3,), (4,)),
        operator("QuantizeLinear", 21, (4, 2), (5,)),
    )
    return canonical(Layer((SIGNED, STEPS, COARSE, X, X, UNSIGNED), operators, (5,)))


QUANTISED = {
    "dequantise, relu, quantise": requantised(),
    "quantise": layer(
        "QuantizeLinear", (X, COARSE, fixed(70, dtype="uint8", scalar=True)), UNSIGNED
    ),
    "quantise beyond the range": layer("QuantizeLinear", (X, FINE), UNSIGNED),
    "quantise by channel": layer(
        "QuantizeLinear", (X, STEPS, fixed(*range(-4, 4), dtype="int8")), SIGNED
    ),
    "quantise to 16 bits": layer(
        "QuantizeLinear",
        (TABLE, fixed(*[1e-4] * 12, dtype="float32"), fixed(*range(12), dtype="int16")),
        Tensor("int16", (7, 12)),
        axis=-1,
    ),
    "dequantise": layer(
        "DequantizeLinear", (SIGNED, FINE, fixed(-3, dtype="int8", scalar=True)), X
    ),
    "dequantise by channel": layer(
        "DequantizeLinear", (UNSIGNED, STEPS, fixed(*range(120, 128), dtype="uint8")), X
    ),
    "dequantise sums": layer("DequantizeLinear", (ints(7, 12), weights(12)), TABLE),
    "dequantise with a computed scale": layer(
        "DequantizeLinear", (SIGNED, floats(), Tensor("int8", ())), X
    ),
}

MOVES = {
    "gather rows": layer("Gather", (TABLE, longs(2, 3)), floats(2, 3, 12)),
    "gather on the last axis": layer("Gather", (ROWS, longs(4)), floats(3, 5, 4), axis=2),
    "gather one": layer("Gather", (ROWS, fixed(-1, scalar=True)), floats(3, 12), axis=1),
    "gather integers": layer("Gather", (longs(7, 5), ints(4)), longs(4, 5)),
    "gather elements": layer("GatherElements", (ROWS, longs(3, 4, 12)), floats(3, 4, 12), axis=1),
    "gather tuples": layer("GatherND", (ROWS, longs(6, 2)), floats(6, 12)),
    "gather tuples in batches": layer(
        "GatherND", (ROWS, longs(3, 4, 1)), floats(3, 4, 12), batch_dims=1
    ),
    "scatter elements": layer(
        "ScatterElements", (ROWS, longs(3, 4, 11), floats(3, 4, 11)), ROWS, axis=1
    ),
    "scatter tuples": layer("ScatterND", (ROWS, longs(6, 2), floats(6, 12)), ROWS),
    "scatter runs of integers": layer(
        "ScatterND", (longs(7, 5), longs(3, 1), longs(3, 5)), longs(7, 5)
    ),
    "concat of integers": layer("Concat", (longs(3, 5), longs(3, 2)), longs(3, 7), axis=1),
    "concat of nothing": layer("Concat", (floats(3, 0), floats(3, 2)), floats(3, 2), axis=1),
    "concat around nothing": layer(
        "Concat", (floats(3, 2), floats(3, 0), floats(3, 5)), floats(3, 7), axis=1
    ),
    "transpose of bytes": layer(
        "Transpose", (Tensor("uint8", (4, 6, 8)),), Tensor("uint8", (4, 8, 6)), perm=(0, 2, 1)
    ),
    "split": layer("Split", (X, fixed(3, 5)), floats(2, 3, 9, 9), floats(2, 5, 9, 9), axis=1),
    "split in equal parts": layer(
        "Split", (ROWS,), *(floats(3, 5, 4),) * 3, axis=2, num_outputs=3
    ),
    "tile": layer("Tile", (ROWS, fixed(2, 1, 3)), floats(6, 5, 36)),
    "depth to space": layer("DepthToSpace", (X,), floats(2, 2, 18, 18), blocksize=2),
    "depth to space by columns": layer(
        "DepthToSpace", (X,), floats(2, 2, 18, 18), blocksize=2, mode="CRD"
    ),
    "space to depth": layer(
        "SpaceToDepth", (floats(2, 3, 8, 6),), floats(2, 12, 4, 3), blocksize=2
    ),
    "windows added up": layer(
        "Col2Im", (floats(2, 36, 25), fixed(9, 9), fixed(3, 3)), floats(2, 4, 9, 9),
        strides=(2, 2), pads=(1, 1, 1, 1),
    ),
    "windows added up to cut images": layer(
        "Col2Im", (floats(1, 12, 12), fixed(7, 9), fixed(2, 2)), floats(1, 3, 7, 9), strides=(2, 2)
    ),
    "dilated windows added up": layer(
        "Col2Im", (floats(1, 12, 4), fixed(5, 6), fixed(2, 3)), floats(1, 2, 5, 6),
        dilations=(3, 2),
    ),
    "pad": layer(
        "Pad", (X, fixed(0, 0, 1, 2, 0, 0, 3, 0), fixed(0.5, dtype="float32", scalar=True)),
        floats(2, 8, 13, 11),
    ),
    "pad before version 11": layer(
        "Pad", (X,), floats(2, 8, 11, 11), opset=10, pads=(0, 0, 1, 1, 0, 0, 1, 1)
    ),
    "pad by reflection": layer(
        "Pad", (X, fixed(0, 0, 2, 2, 0, 0, 3, 1)), floats(2, 8, 14, 12), mode="reflect"
    ),
    "pad with edges": layer(
        "Pad", (ROWS, fixed(0, 1, 2, 2, 0, 3)), floats(5, 6, 17), mode="edge"
    ),
    "pad around": layer(
        "Pad", (ROWS, fixed(0, 1, 2, 2, 0, 3)), floats(5, 6, 17), mode="wrap"
    ),
    "pad that cuts off": layer("Pad", (ROWS, fixed(0, -1, 2, 0, -2, 3)), floats(3, 2, 17)),
    "pad integers": layer("Pad", (longs(5), fixed(1, 2)), longs(8)),
}  # fmt: skip


def resized(size: int, **attributes: AttributeValue) -> Layer:
    empty = fixed(dtype="float32")
    scale = float(np.float32(size / 9))
    scales = fixed(1.0, 1.0, scale, scale, dtype="float32")
    return layer("Resize", (X, empty, scales), floats(2, 8, size, size), opset=21, **attributes)


def resized_to(size: int, **attributes: AttributeValue) -> Layer:
    empty = fixed(dtype="float32")
    sizes = fixed(2, 8, size, size + 1)
    inputs = (X, empty, empty, sizes)
    return layer("Resize", inputs, floats(2, 8, size, size + 1), opset=21, **attributes)


RESIZES = {
    f"resize {mode} {coordinates} to {size}": make(
        size, mode=mode, coordinate_transformation_mode=coordinates
    )
    for mode in ("nearest", "linear", "cubic")
    for coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
    for make, size in ((resized, 18), (resized_to, 14))
} | {
    f"resize to the {rounding}": resized(
        27, mode="nearest", nearest_mode=rounding, coordinate_transformation_mode="asymmetric"
    )
    for rounding in ("floor", "ceil", "round_prefer_ceil")
} | {
    "resize by cubics of the inside": resized(
        27, mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1
    ),
    "resize symmetrically": resized_to(
        14, mode="linear", coordinate_transformation_mode="half_pixel_symmetric"
    ),
    "upsample": layer(
        "Upsample", (X, fixed(1, 1, 2, 3, dtype="float32")), floats(2, 8, 18, 27), opset=9
    ),
    "upsample linearly": layer(
        "Upsample", (X, fixed(1, 1, 2, 2, dtype="float32")), floats(2, 8, 18, 18), opset=9,
        mode="linear",
    ),
    "upsample before version 9": layer(
        "Upsample", (X,), floats(2, 8, 18, 18), opset=7, scales=(1.0, 1.0, 2.0, 2.0)
    ),
}  # fmt: skip

ORDERS = {
    "arg max": layer("ArgMax", (ROWS,), longs(3, 1, 12), axis=1),
    "last arg min": layer("ArgMin", (ROWS,), longs(3, 5), axis=2, keepdims=0, select_last_index=1),
    "arg max of many": layer("ArgMax", (floats(2, 3000),), longs(2, 1), axis=1),
    "top k": layer("TopK", (floats(3, 70), fixed(5)), floats(3, 5), longs(3, 5)),
    "all in order": layer("TopK", (floats(5, 33), fixed(33)), floats(5, 33), longs(5, 33)),
    "smallest of integers": layer(
        "TopK", (longs(3, 40, 2), fixed(4)), longs(3, 4, 2), longs(3, 4, 2), axis=1, largest=0
    ),
    "running sum": layer("CumSum", (ROWS, fixed(1, scalar=True)), ROWS),
    "running sum from the end": layer(
        "CumSum", (floats(3, 300), fixed(-1, scalar=True)), floats(3, 300), exclusive=1, reverse=1
    ),
    "running sum down columns": layer(
        "CumSum", (floats(2, 37, 20), fixed(1, scalar=True)), floats(2, 37, 20)
    ),
    "running sum of integers": layer("CumSum", (longs(40), fixed(0, scalar=True)), longs(40)),
}

REDUCTIONS = {
    f"reduce {kind} over space": layer(
        f"Reduce{kind}", (X,), floats(2, 8, 1, 1), opset=11, axes=(2, 3)
    )
    for kind in "L1 L2 LogSum LogSumExp Max Mean Min Sum SumSquare".split()
} | {
    "reduce to products": layer("ReduceProd", (ROWS,), floats(3, 1, 12), opset=11, axes=(1,)),
    "reduce all": layer("ReduceMean", (ROWS,), floats(1, 1, 1), opset=11),
    "reduce axes that are apart": layer(
        "ReduceSum", (X, fixed(0, 2)), floats(8, 9), opset=13, keepdims=0
    ),
    "reduce channels": layer("ReduceMax", (X, fixed(1)), floats(2, 1, 9, 9), opset=18),
    "reduce the last axis": layer("ReduceMean", (ROWS, fixed(-1)), floats(3, 5), keepdims=0),
    "reduce many": layer("ReduceSum", (floats(3, 5000), fixed(1)), floats(3, 1)),
    "reduce integers": layer("ReduceSum", (longs(4, 6), fixed(1)), longs(4, 1)),
    "largest integer": layer("ReduceMax", (ints(4, 6), fixed(0)), ints(1, 6)),
    "smallest integer": layer("ReduceMin", (ints(4, 6), fixed(1)), ints(4, 1)),
    "smallest bool": layer("ReduceMin", (bools(4, 2), fixed(1)), bools(4, 1)),
}  # fmt: skip

NORMS = {
    "layer norm": layer("LayerNormalization", (ROWS, weights(12), weights(12)), ROWS),
    "layer norm of two axes": layer(
        "LayerNormalization", (ROWS, weights(5, 12)), ROWS, axis=1, epsilon=0.01
    ),
    "layer norm of long rows": layer(
        "LayerNormalization", (floats(3, 1500), weights(1500), weights(1500)), floats(3, 1500)
    ),
    "layer norm with a computed scale": layer(
        "LayerNormalization", (ROWS, floats(12), floats(12)), ROWS
    ),
    "rms norm": layer("RMSNormalization", (ROWS, weights(12)), ROWS),
    "instance norm": layer("InstanceNormalization", (X, weights(8), weights(8)), X),
    "instance norm with a computed scale": layer(
        "InstanceNormalization", (X, floats(8), floats(8)), X
    ),
    "instance norm of one axis": layer(
        "InstanceNormalization", (floats(2, 3, 20), weights(3), weights(3)), floats(2, 3, 20)
    ),
    "group norm": layer("GroupNormalization", (X, weights(8), weights(8)), X, num_groups=2),
    "lp norm": layer("LpNormalization", (ROWS,), ROWS, axis=1, p=1),
    "l2 norm": layer("LpNormalization", (ROWS,), ROWS),
    "mean and variance": layer("MeanVarianceNormalization", (X,), X),
}

MORE = BROADCASTS | QUANTISED | MOVES | RESIZES | ORDERS | REDUCTIONS | NORMS
