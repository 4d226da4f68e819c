"""Windows that move over a feature map, of convolutions and poolings."""

from typing import NamedTuple

from benanza_schemas.layer import Operator


class Windows(NamedTuple):
    """Sizes, strides, dilations and pads: one number for each axis of space."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads_before: tuple[int, ...]
    pads_after: tuple[int, ...]

    def in_space(self) -> "Windows":
        """The same with two axes of space: an only one gets an axis of one before it."""
        if len(self.window) != 1:
            return self
        return Windows(
            window=(1, *self.window),
            strides=(1, *self.strides),
            dilations=(1, *self.dilations),
            pads_before=(0, *self.pads_before),
            pads_after=(0, *self.pads_after),
        )


def in_space(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a feature map or filter; an only axis of space gets an axis of one before it."""
    return (*shape[:2], 1, shape[2]) if len(shape) == 3 else shape


def windows(
    operator: Operator, x: tuple[int, ...], window: tuple[int, ...], output: tuple[int, ...]
) -> Windows:
    """The windows of size `window` of an operator that makes this `output` of an input.

    `x` and `output` are shapes. SAME_UPPER and SAME_LOWER are resolved as ONNX says: an odd pad
    goes to the end, or to the start. Pads that the output needs beyond those given (`ceil_mode`)
    are added at the end.
    """
    rank = len(window)
    strides = operator.integers("strides", (1,) * rank)
    dilations = operator.integers("dilations", (1,) * rank)
    needed = tuple(
        (out - 1) * stride + (size - 1) * dilation + 1
        for out, stride, size, dilation in zip(output[2:], strides, window, dilations, strict=True)
    )
    auto_pad = operator.text("auto_pad", "NOTSET")
    if auto_pad.startswith("SAME"):
        total = [max(0, reach - size) for reach, size in zip(needed, x[2:], strict=True)]
        small = tuple(pad // 2 for pad in total)
        large = tuple(pad - pad // 2 for pad in total)
        before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    else:
        pads = operator.integers("pads", (0,) * (2 * rank))
        before, after = pads[:rank], pads[rank:]
        after = tuple(
            max(pad, reach - size - start)
            for pad, reach, size, start in zip(after, needed, x[2:], before, strict=True)
        )
    return Windows(window, strides, dilations, before, after)


def transposed_windows(
    operator: Operator, x: tuple[int, ...], window: tuple[int, ...], output: tuple[int, ...]
) -> Windows:
    """The windows of the convolution that a transposed one reverses.

    `x` and `output` are shapes. If `auto_pad` or `output_shape` asks for it, pads follow from the
    shapes: half on each side, and an odd one at the end for SAME_UPPER, else at the start.
    """
    rank = len(window)
    strides = operator.integers("strides", (1,) * rank)
    dilations = operator.integers("dilations", (1,) * rank)
    pads = operator.integers("pads", (0,) * (2 * rank))
    before, after = pads[:rank], pads[rank:]
    auto_pad = operator.text("auto_pad", "NOTSET")
    if auto_pad.startswith("SAME") or operator.integers("output_shape", ()):
        extra = operator.integers("output_padding", (0,) * rank)
        total = [
            max(0, (size - 1) * stride + more + (length - 1) * dilation + 1 - out)
            for size, stride, more, length, dilation, out in zip(
                x[2:], strides, extra, window, dilations, output[2:], strict=True
            )
        ]
        small = tuple(pad // 2 for pad in total)
        large = tuple(pad - pad // 2 for pad in total)
        before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    return Windows(window, strides, dilations, before, after)
