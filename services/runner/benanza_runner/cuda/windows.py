"""Windows that move over an image: what convolutions and poolings have in common."""

from typing import NamedTuple

from benanza_runner.cuda.attributes import integers, text
from benanza_schemas.layer import Operator


class Windows(NamedTuple):
    """One number for each axis of space."""

    window: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads_before: tuple[int, ...]
    pads_after: tuple[int, ...]


def windows(
    operator: Operator, image: tuple[int, ...], window: tuple[int, ...], output: tuple[int, ...]
) -> Windows:
    """The windows of an operator that makes an output of this shape from an image of that one.

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
        total = [max(0, reach - size) for reach, size in zip(needed, image[2:], strict=True)]
        small = tuple(pad // 2 for pad in total)
        large = tuple(pad - pad // 2 for pad in total)
        before, after = (small, large) if auto_pad == "SAME_UPPER" else (large, small)
    else:
        pads = integers(operator, "pads", (0,) * (2 * rank))
        before, after = pads[:rank], pads[rank:]
        after = tuple(
            max(pad, reach - size - start)
            for pad, reach, size, start in zip(after, needed, image[2:], before, strict=True)
        )
    return Windows(window, strides, dilations, before, after)
