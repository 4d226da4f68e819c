"""One layer of every kind that is lowered, small, with odd sizes and every corner."""

from benanza_schemas.identity import canonical
from benanza_schemas.layer import AttributeValue, Layer, Tensor
from tests.runner.cuda.layers.attention import ATTENTIONS
from tests.runner.cuda.layers.diffusion import DIFFUSION
from tests.runner.cuda.layers.experts import MIXTURES
from tests.runner.cuda.layers.float8 import FLOAT8_CONVERSIONS, FLOAT8_PRODUCTS
from tests.runner.cuda.layers.gathered_blocks import GATHERED
from tests.runner.cuda.layers.in_place import IN_PLACE
from tests.runner.cuda.layers.more import MORE, fixed
from tests.runner.cuda.layers.own import OWN
from tests.runner.cuda.layers.own_products import FUSED_PRODUCTS
from tests.runner.cuda.layers.products import PRODUCTS
from tests.runner.cuda.layers.prologues import FOLDED
from tests.runner.cuda.layers.quantised import ON_INTEGERS, QUANTISED
from tests.runner.cuda.layers.recurrent import RECURRENT
from tests.runner.cuda.layers.regions import MERGED, REGIONS
from tests.runner.cuda.layers.scaled_blocks import SCALED_BLOCKS
from tests.runner.cuda.layers.states import STATES
from tests.runner.layers import conv_group, floats, gemm, operator, single, weights


def convolution(
    x: tuple[int, ...], kernel: tuple[int, ...], output: tuple[int, ...], **more: AttributeValue
) -> Layer:
    inputs = (floats(*x), weights(*kernel), weights(kernel[0]))
    return single("Conv", 1, inputs, (floats(*output),), "", kernel_shape=kernel[2:], **more)


def pooling(op_type: str, window: int, output: int, **more: AttributeValue) -> Layer:
    x, result = floats(2, 8, 14, 14), floats(2, 8, output, output)
    version = 8 if op_type == "MaxPool" else 7
    shape = (window, window)
    return single(op_type, version, (x,), (result,), "", kernel_shape=shape, **more)


def chain() -> Layer:
    """BatchNormalization–Mul–Add–Relu, as before a convolution."""
    x, vector, planes = floats(2, 6, 5, 5), weights(6), weights(6, 1, 1)
    tensors = (x, vector, vector, vector, vector, x, planes, x, planes, x, x)
    operators = (
        operator("BatchNormalization", 9, (0, 1, 2, 3, 4), (5,)),
        operator("Mul", 7, (5, 6), (7,)),
        operator("Add", 7, (7, 8), (9,)),
        operator("Relu", 6, (9,), (10,)),
    )
    return canonical(Layer(tensors, operators, (10,)))


def gemm_relu() -> Layer:
    tensors = (floats(3, 24), weights(16, 24), weights(16), floats(3, 16), floats(3, 16))
    operators = (operator("Gemm", 9, (0, 1, 2), (3,), transB=1), operator("Relu", 6, (3,), (4,)))
    return canonical(Layer(tensors, operators, (4,)))


def sliced() -> Layer:
    x, result = floats(2, 9, 8), floats(2, 3, 8)
    return single("Slice", 1, (x,), (result,), starts=(1,), ends=(4,), axes=(1,))


def dynamically_quantised(*shape: int) -> Layer:
    """DynamicQuantizeLinear, with all its results."""
    results = (Tensor("uint8", shape), floats(), Tensor("uint8", ()))
    return single("DynamicQuantizeLinear", 11, (floats(*shape),), results)


def grid_sampled(x: tuple[int, ...], output: tuple[int, ...], **more: AttributeValue) -> Layer:
    """GridSample, with places that follow from the batch and the space of the result."""
    grid = floats(x[0], *output[2:], len(x) - 2)
    return single("GridSample", 22, (floats(*x), grid), (floats(*output),), "", **more)


def shuffle(batch: int, rows: int, columns: int, *space: int) -> Layer:
    """Channels as a table of rows that is read by columns."""
    x, turned = floats(batch, rows * columns, *space), floats(batch, columns, rows, *space)
    table = floats(batch, rows, columns, *space)
    shapes = [fixed(*tensor.shape) for tensor in (table, x)]
    perm = (0, 2, 1, *range(3, len(table.shape)))
    tensors = (x, shapes[0], table, turned, shapes[1], x)
    operators = (
        operator("Reshape", 14, (0, 1), (2,)),
        operator("Transpose", 13, (2,), (3,), perm=perm),
        operator("Reshape", 14, (3, 4), (5,)),
    )
    return canonical(Layer(tensors, operators, (5,)))


X = floats(2, 8, 9, 9)

LAYERS: dict[str, Layer] = {
    "conv": convolution((2, 8, 9, 9), (16, 8, 3, 3), (2, 16, 7, 7)),
    "conv 1x1": convolution((2, 8, 9, 9), (16, 8, 1, 1), (2, 16, 9, 9)),
    "conv strided, asymmetric pads": convolution(
        (1, 8, 9, 9), (8, 8, 3, 3), (1, 8, 5, 5), strides=(2, 2), pads=(0, 0, 2, 2)
    ),
    "conv in groups": convolution((1, 16, 8, 8), (32, 4, 3, 3), (1, 32, 6, 6), group=4),
    "conv 1x1 in groups": convolution((2, 16, 5, 5), (32, 4, 1, 1), (2, 32, 5, 5), group=4),
    "conv by channel": convolution(
        (1, 16, 8, 8), (16, 1, 3, 3), (1, 16, 8, 8), group=16, pads=(1, 1, 1, 1)
    ),
    "conv of patches": convolution(
        (2, 3, 32, 32), (16, 3, 16, 16), (2, 16, 2, 2), strides=(16, 16)
    ),
    "conv of patches of odd sizes": convolution(
        (1, 3, 23, 21), (24, 3, 7, 7), (1, 24, 3, 3), strides=(7, 7)
    ),
    "conv of few channels": convolution(
        (2, 3, 15, 15), (16, 3, 3, 3), (2, 16, 8, 8), strides=(2, 2), pads=(1, 1, 1, 1)
    ),
    "conv of pairs": convolution((2, 8, 8, 6), (16, 8, 2, 2), (2, 16, 4, 3), strides=(2, 2)),
    "conv dilated": convolution((1, 8, 12, 12), (8, 8, 3, 3), (1, 8, 8, 8), dilations=(2, 2)),
    "conv + batch norm + relu": conv_group(8, 9, "BatchNormalization", "Relu"),
    "conv + batch norm + residual + relu": conv_group(8, 9, "BatchNormalization", "Add", "Relu"),
    "gemm": gemm(5, 24, 16),
    "gemm of a row": gemm(1, 64, 40),
    "gemm + relu": gemm_relu(),
    "matmul": single("MatMul", 13, (floats(3, 5, 16), weights(16, 8)), (floats(3, 5, 8),)),
    "batched matmul": single(
        "MatMul", 13, (floats(2, 3, 5, 16), floats(2, 3, 16, 8)), (floats(2, 3, 5, 8),)
    ),
    "relu": single("Relu", 14, (X,), (X,)),
    "sum": single("Sum", 13, (X, X), (X,)),
    "mul by channel": single("Mul", 14, (X, weights(8, 1, 1)), (X,)),
    "add to the last axis": single("Add", 14, (X, weights(9)), (X,)),
    "chain": chain(),
    "grid sampled": grid_sampled((2, 3, 7, 9), (2, 3, 4, 5)),
    "grid sampled to the corners": grid_sampled((2, 3, 7, 9), (2, 3, 4, 5), align_corners=1),
    "grid sampled at borders": grid_sampled((2, 3, 7, 9), (2, 3, 1, 5), padding_mode="border"),
    "grid sampled, nearest": grid_sampled((2, 3, 7, 9), (2, 3, 4, 5), mode="nearest"),
    "grid sampled, nearest at borders": grid_sampled(
        (2, 3, 7, 9), (2, 3, 4, 5), mode="nearest", padding_mode="border"
    ),
    "volume grid sampled": grid_sampled((1, 2, 3, 7, 5), (1, 2, 2, 4, 5)),
    "dynamic quantisation": dynamically_quantised(3, 5, 64),
    "dynamic quantisation of a vector": dynamically_quantised(3),
    "dynamic quantisation of many": dynamically_quantised(128, 300),
    "max pool": pooling("MaxPool", 3, 6, strides=(2, 2)),
    "max pool, asymmetric pads": pooling("MaxPool", 3, 7, strides=(2, 2), pads=(0, 0, 1, 1)),
    "average pool": pooling("AveragePool", 3, 14, pads=(1, 1, 1, 1), count_include_pad=0),
    "average pool with pads": pooling("AveragePool", 3, 14, pads=(1, 1, 1, 1), count_include_pad=1),
    "global average pool": single("GlobalAveragePool", 1, (X,), (floats(2, 8, 1, 1),)),
    "softmax": single("Softmax", 13, (floats(4, 50, 3),), (floats(4, 50, 3),), axis=1),
    "softmax before version 13": single("Softmax", 1, (X,), (X,), axis=1),
    "local response": single("LRN", 13, (X,), (X,), size=5, alpha=0.01, beta=0.75, bias=2.0),
    "concat": single("Concat", 13, (X, floats(2, 3, 9, 9)), (floats(2, 11, 9, 9),), axis=1),
    "transpose": single("Transpose", 13, (X,), (floats(2, 9, 8, 9),), perm=(0, 2, 1, 3)),
    "shuffle of channels": shuffle(2, 3, 4, 9, 9),
    "shuffle of channels in a row": shuffle(2, 2, 8, 5),
    "slice": sliced(),
    "expand": single(
        "Expand",
        13,
        (
            floats(3, 1),
            Tensor("int64", (3,), True, b"".join(n.to_bytes(8, "little") for n in (2, 3, 4))),
        ),
        (floats(2, 3, 4),),
    ),
    **MORE,
    **ATTENTIONS,
    **PRODUCTS,
    **FOLDED,
    **RECURRENT,
    **MERGED,
    **REGIONS,
    **IN_PLACE,
    **GATHERED,
    **OWN,
    **DIFFUSION,
    **FUSED_PRODUCTS,
    **QUANTISED,
    **FLOAT8_CONVERSIONS,
    **FLOAT8_PRODUCTS,
    **ON_INTEGERS,
    **SCALED_BLOCKS,
    **MIXTURES,
    **STATES,
}
