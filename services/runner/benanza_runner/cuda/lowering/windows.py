"""Windows that move over a feature map: what convolutions and poolings have in common."""

from typing import NamedTuple

from benanza_runner.cuda.lowering.attributes import integers, text
from benanza_schemas.layer import Operator


class Windows(NamedTuple):
    """One number for each axis of space."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads_before: tuple[int, ...]
    pads_after: tuple[int, ...]

    def in_space(self) -> "Windows":
        """With an axis of one, on which nothing moves, before an only axis of space."""
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
    """The shape of a feature map or filter with an axis of one before an only axis of space."""
    return (*shape[:2], 1, shape[2]) if len(shape) == 3 else shape


def windows(
    operator: Operator, x: tuple[int, ...], window: tuple[int, ...], output: tuple[int, ...]
) -> Windows:
    """The windows of an operator that makes an output of this shape from an input of that one.

    SAME_UPPER and SAME_LOWER are resolved as ONNX says: what is odd goes to the end, or to
    the start. What an output needs beyond the pads given (`ceil_mode`) is added at the end.
    """
    rank = len(window)
    strides = integers(operator, "strides", (1,) * rank)
    dilations = integers(operator, "dilations", (1,) * rank)
    needed = tuple(
        (out - 1) * stride + (size - 1) * dilation + 1
        for out, stride, size, dilation in zip(output[2:], strides, window, dilations, strict=True)
    )
    auto_pad = text(operator, "auto_pad", "NOTSET")
    if auto_pad.startswith("SAME"):
        total = [max(0, reach - size) for reach, size in zip(needed, x[2:], strict=True)]
        small = tuple(pad // 2 for pad in total)
        large = tuple(pad - pad // 2 for pad in total)
        before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    else:
        pads = integers(operator, "pads", (0,) * (2 * rank))
        before, after = pads[:rank], pads[rank:]
        after = tuple(
            max(pad, reach - size - start)
            for pad, reach, size, start in zip(after, needed, x[2:], before, strict=True)
        )
    return Windows(window, strides, dilations, before, after)


def transposed_windows(
    operator: Operator, x: tuple[int, ...], window: tuple[int, ...], output: tuple[int, ...]
) -> Windows:
    """The windows of the convolution that a transposed one is the reverse of.

    Its pads follow from the shapes where `auto_pad` or `output_shape` ask for them: half at
    each side, and what is odd at the end for SAME_UPPER and at the start else.
    """
    rank = len(window)
    strides = integers(operator, "strides", (1,) * rank)
    dilations = integers(operator, "dilations", (1,) * rank)
    pads = integers(operator, "pads", (0,) * (2 * rank))
    before, after = pads[:rank], pads[rank:]
    auto_pad = text(operator, "auto_pad", "NOTSET")
    if auto_pad.startswith("SAME") or integers(operator, "output_shape", ()):
        extra = integers(operator, "output_padding", (0,) * rank)
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
