"""How often the window of a convolution or a pooling fits along each axis."""

from collections.abc import Mapping, Sequence
from typing import Any


def slid(
    sizes: Sequence[int], kernel: Sequence[int], attributes: Mapping[str, Any]
) -> tuple[int, ...]:
    """The sizes of the result, by `strides`, `dilations`, `pads`, `auto_pad` and `ceil_mode`.

    A window that would begin in the padding behind the end doesn't count, whatever `ceil_mode`
    says: https://onnx.ai/onnx/operators/onnx__MaxPool.html#summary. Raises `ValueError` where no
    window fits, and what Python raises if the attributes are of another rank.
    """
    rank = len(sizes)
    strides = attributes.get("strides") or [1] * rank
    dilations = attributes.get("dilations") or [1] * rank
    pads = attributes.get("pads") or [0] * (2 * rank)
    auto_pad = attributes.get("auto_pad", b"NOTSET")
    counts = []
    for axis, (size, window) in enumerate(zip(sizes, kernel, strict=True)):
        stride, reach = strides[axis], (window - 1) * dilations[axis] + 1
        if auto_pad in (b"SAME_UPPER", b"SAME_LOWER"):
            counts.append(-(-size // stride))
            continue
        before, after = (0, 0) if auto_pad == b"VALID" else (pads[axis], pads[axis + rank])
        room = size + before + after - reach
        if room < 0:
            raise ValueError(f"its window is larger than {size} with its padding")
        steps = room // stride + 1
        if attributes.get("ceil_mode"):
            steps = -(-room // stride) + 1
            if (steps - 1) * stride >= size + before:
                steps -= 1
        counts.append(steps)
    return tuple(counts)
