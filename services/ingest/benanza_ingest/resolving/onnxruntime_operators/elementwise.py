"""Results of operators that work element by element, reduce, join or look up."""

from math import ceil

from benanza_ingest.resolving.onnxruntime_operators.own_node import (
    OwnNode,
    Rule,
    Shape,
    UnknownResultError,
    broadcast,
    divided,
    elements,
    like,
)


def broadcasting(*positions: int) -> Rule:
    """One result with the shape to which these inputs are broadcast."""
    return lambda node: [broadcast(*map(node.shape, positions))]


def reduced(node: OwnNode) -> list[Shape]:
    """The axes that are reduced have one element, or go."""
    x = node.shape(0)
    axes = {axis % len(x) for axis in node.list("axes", range(len(x)))}
    kept = node.number("keepdims", 1)
    sizes = (
        (1 if axis in axes else size) for axis, size in enumerate(x) if kept or axis not in axes
    )
    return [tuple(sizes)]


def joined(node: OwnNode) -> list[Shape]:
    """Inputs that each stand with a scale and a zero point, from the third on."""
    parts = [node.shape(position) for position in range(2, len(node.shapes), 3)]
    first, axis = parts[0], node.number("axis")
    axis %= len(first)
    return [(*first[:axis], sum(part[axis] for part in parts), *first[axis + 1 :])]


def gathered(node: OwnNode) -> list[Shape]:
    """Rows of a table in blocks of quantised numbers, of which a byte may hold two."""
    *sizes, last = node.shape(0)
    in_a_byte = divided(8, node.number("bits", 4)) if node.attributes.get("packed") else 1
    table = (*sizes, last * in_a_byte)
    axis = node.number("gather_axis") % len(table)
    return [(*table[:axis], *node.shape(1), *table[axis + 1 :])]


def gathered_slices(node: OwnNode) -> list[Shape]:
    """Of each index, the slice of the data that it points to."""
    data, (*outer, depth) = node.shape(0), node.shape(1)
    return [(*outer, *data[depth:])]


def counted(node: OwnNode) -> list[Shape]:
    """The numbers from a first one up to a last one."""
    start, limit, *rest = map(node.only_value, range(3 if node.has(2) else 2))
    return [(max(0, ceil((limit - start) / (rest or [1])[0])),)]


def recurrent(node: OwnNode) -> list[Shape]:
    """Hidden states of all steps, and the last ones."""
    steps, batch, _ = node.shape(0)
    directions, hidden, _ = node.shape(2)
    last = (directions, batch, hidden)
    return [(steps, directions, batch, hidden), last, last]


def expanded(node: OwnNode) -> list[Shape]:
    """One more axis."""
    x, (axis,) = node.shape(0), node.numbers(1)
    axis %= len(x) + 1
    return [(*x[:axis], 1, *x[axis:])]


def distances(node: OwnNode) -> list[Shape]:
    """Of each row of one matrix to each of another."""
    return [(node.shape(0)[0], node.shape(1)[0])]


def cropped(node: OwnNode) -> list[Shape]:
    """Parts of an image, made equally large."""
    height, width = node.numbers(3)
    return [(node.shape(1)[0], node.shape(0)[1], height, width)]


def sampled(node: OwnNode) -> list[Shape]:
    """An image at points of a grid."""
    return [(*node.shape(0)[:2], *node.shape(1)[1:-1])]


def fourier(node: OwnNode) -> list[Shape]:
    """The half of the spectrum that says all, as real and imaginary parts."""
    *outer, last = node.shape(0)
    return [(*outer, last // 2 + 1, 2)]


def inverse_fourier(node: OwnNode) -> list[Shape]:
    """The signal of such a spectrum."""
    *outer, half, _ = node.shape(0)
    return [(*outer, 2 * (half - 1))]


def padded(node: OwnNode) -> list[Shape]:
    """As ONNX's Pad, with the pads as an input."""
    x, pads = node.shape(0), node.numbers(1)
    if len(pads) != 2 * len(x):
        raise UnknownResultError("its pads don't fit the first input")
    return [tuple(size + a + b for size, a, b in zip(x, pads, pads[len(x) :], strict=False))]


def dropped(node: OwnNode) -> list[Shape]:
    """Also the mask, one bit for each element."""
    x = node.shape(0)
    return [x, (-(-elements(x) // 32),)] if node.op_type.startswith("Bitmask") else [x, x]


def unfolded(node: OwnNode) -> list[Shape]:
    """Windows along one axis, in an axis of their own."""
    x = node.shape(0)
    axis, size, step = node.number("dim", -1) % len(x), node.number("size"), node.number("step", 1)
    return [(*x[:axis], (x[axis] - size) // step + 1, *x[axis + 1 :], size)]


def words(node: OwnNode) -> list[Shape]:
    """A vector for each word [words, letters]: the largest of a convolution's over its letters."""
    return [(node.shape(0)[0], node.shape(1)[0])]


def halved(node: OwnNode) -> list[Shape]:
    """One half of the channels gates the other."""
    *outer, channels = node.shape(0)
    return [(*outer, divided(channels, 2))]


def from_all(node: OwnNode) -> list[Shape]:
    """The inputs of so many ranks, one behind another along an axis."""
    x = node.shape(0)
    axis = node.number("axis", 0) % len(x)
    return [(*x[:axis], x[axis] * node.number("group_size", 1), *x[axis + 1 :])]


RULES: dict[str, Rule] = {
    "AllGather": from_all,
    "AllReduce": like(0),
    "BiasAdd": like(0),
    "BiasDropout": dropped,
    "BiasGelu": like(0),
    "BiasSoftmax": like(0),
    "BiasSplitGelu": halved,
    "BitmaskBiasDropout": dropped,
    "BitmaskDropout": dropped,
    "BranchwiseRMSNorm": like(0),
    "CDist": distances,
    "ComplexMul": broadcasting(0, 1),
    "ComplexMulConj": broadcasting(0, 1),
    "CropAndResize": cropped,
    "DequantizeBFP": lambda node: [tuple(node.numbers(1))],
    "DequantizeLinear": like(0),
    "DequantizeWithOrder": like(0),
    "DynamicQuantizeLSTM": recurrent,
    "ExpandDims": expanded,
    "FastGelu": like(0),
    "GatherBlockQuantized": gathered,
    "GatedAdd": like(0),
    "GatedRMSNorm": like(0),
    "GatherND": gathered_slices,
    "Gelu": like(0),
    "GridSample": sampled,
    "GroupNorm": like(0),
    "Inverse": like(0),
    "Irfft": inverse_fourier,
    "IsAllFinite": lambda node: [()],
    "MulInteger": broadcasting(0, 2),
    "MurmurHash3": like(0),
    "NGramRepeatBlock": like(1),
    "Pad": padded,
    "QLinearAdd": broadcasting(0, 3),
    "QLinearConcat": joined,
    "QLinearLeakyRelu": like(0),
    "QLinearMul": broadcasting(0, 3),
    "QLinearReduceMean": reduced,
    "QLinearSigmoid": like(0),
    "QLinearSoftmax": like(0),
    "QLinearWhere": broadcasting(0, 1, 4),
    "QOrderedGelu": like(0),
    "QOrderedLayerNormalization": like(0),
    "QuantizeLinear": like(0),
    "QuantizeWithOrder": like(0),
    "QuickGelu": like(0),
    "Range": counted,
    "ReduceSumInteger": reduced,
    "Rfft": fourier,
    "SampleOp": like(0),
    "ScaledSiLU": like(0),
    "SkipGroupNorm": like(0, 0),
    "TorchEmbedding": lambda node: [(*node.shape(1), node.shape(0)[1])],
    "Trilu": like(0),
    "UnfoldTensor": unfolded,
    "WordConvEmbedding": words,
}
