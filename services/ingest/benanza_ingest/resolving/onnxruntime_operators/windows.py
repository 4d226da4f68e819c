"""Results of convolutions and poolings, in any order of the axes."""

from benanza_ingest.resolving.inferring.windows import slid
from benanza_ingest.resolving.onnxruntime_operators.own_node import (
    OwnNode,
    Rule,
    Shape,
    UnknownResultError,
)

BLOCK = 16
"""Channels in a block where the processor has AVX-512; 8 elsewhere."""


def convolution(image: int, weights: int, *, always_last: bool = False) -> Rule:
    """A convolution of these two inputs. `channels_last` may say where the channels are."""

    def rule(node: OwnNode) -> list[Shape]:
        x, w = node.shape(image), node.shape(weights)
        last = always_last or bool(node.number("channels_last"))
        batch, *sizes = x if not last else (x[0], *x[1:-1])
        sizes = sizes if last else sizes[1:]
        kernel = w[2:]
        if last and w[1] * node.number("group", 1) != x[-1]:
            kernel = w[1:-1]  # so are the weights
        spatial = slid(sizes, kernel, node.attributes)
        return [(batch, *spatial, w[0]) if last else (batch, w[0], *spatial)]

    return rule


def pooling(*, always_last: bool = False) -> Rule:
    """A pooling of the first input."""

    def rule(node: OwnNode) -> list[Shape]:
        x = node.shape(0)
        kernel = node.list("kernel_shape", [])
        if always_last or node.number("channels_last"):
            return [(x[0], *slid(x[1:-1], kernel, node.attributes), x[-1])]
        return [(*x[:2], *slid(x[2:], kernel, node.attributes))]

    return rule


def over_all(node: OwnNode) -> list[Shape]:
    """A pooling over all of an image."""
    x = node.shape(0)
    if node.number("channels_last"):
        return [(x[0], *(1,) * (len(x) - 2), x[-1])]
    return [(*x[:2], *(1,) * (len(x) - 2))]


def into_blocks(node: OwnNode) -> list[Shape]:
    """An image in blocks of channels, the last one filled up."""
    x = node.shape(0)
    last = bool(node.number("channels_last"))
    channels = x[-1] if last else x[1]
    sizes = x[1:-1] if last else x[2:]
    return [(x[0], -(-channels // BLOCK) * BLOCK, *sizes)]


def out_of_blocks(node: OwnNode) -> list[Shape]:
    """The inverse."""
    x, channels = node.shape(0), node.number("channels")
    if node.number("channels_last"):
        return [(x[0], *x[2:], channels)]
    return [(x[0], channels, *x[2:])]


def scaled(node: OwnNode) -> list[Shape]:
    """An image whose sizes are multiplied."""
    scales = node.list("scales", [])
    return [tuple(size * scale for size, scale in zip(node.shape(0), scales, strict=True))]


def transposed(node: OwnNode) -> list[Shape]:
    """The inverse of a convolution, with the pads as an input."""
    x, w = node.shape(0), node.shape(1)
    rank = len(x) - 2
    ones, zeros = [1] * rank, [0] * rank
    if node.attributes.get("auto_pad", b"NOTSET") != b"NOTSET":
        raise UnknownResultError("its pads are chosen by itself")
    pads = node.numbers(2) if node.has(2) else zeros * 2
    spatial = [
        (size - 1) * stride + more + (window - 1) * dilation + 1 - before - after
        for size, window, stride, dilation, more, before, after in zip(
            x[2:],
            w[2:],
            node.list("strides", ones),
            node.list("dilations", ones),
            node.list("output_padding", zeros),
            pads[:rank],
            pads[rank:],
            strict=True,
        )
    ]
    return [(x[0], w[1] * node.number("group", 1), *spatial)]


RULES: dict[str, Rule] = {
    "ConvTransposeWithDynamicPads": transposed,
    "FusedConv": convolution(0, 1),
    "MaxpoolWithMask": pooling(),
    "NhwcConv": convolution(0, 1, always_last=True),
    "NhwcFusedConv": convolution(0, 1, always_last=True),
    "NhwcMaxPool": pooling(always_last=True),
    "QLinearAveragePool": pooling(),
    "QLinearConv": convolution(0, 3),
    "QLinearGlobalAveragePool": over_all,
}

IN_BLOCKS: dict[str, Rule] = {
    "AveragePool": pooling(),
    "Conv": convolution(0, 1),
    "GlobalAveragePool": over_all,
    "GlobalMaxPool": over_all,
    "MaxPool": pooling(),
    "ReorderInput": into_blocks,
    "ReorderOutput": out_of_blocks,
    "Upsample": scaled,
}
"""Those of the domain com.microsoft.nchwc, whose images are in blocks of channels."""
