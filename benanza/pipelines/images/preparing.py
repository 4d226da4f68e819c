"""What the steps make of a file, with a digest behind each."""

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from benanza.pipelines.failing import FailedSampleError
from benanza.pipelines.images.decoding import decode
from benanza.pipelines.images.resizing import resize
from benanza.pipelines.images.steps import (
    Cast,
    CentreCrop,
    Decode,
    Layout,
    Normalise,
    Numbers,
    Resize,
    Step,
)
from benanza_runner.arrays import Array

DIGITS = 16
"""Of a digest: 64 bits tell what differs by accident."""


def prepared(content: bytes, steps: Sequence[Step]) -> Array:
    """What the last step makes of a file: the model's input without its first axis. Raises
    `FailedSampleError`.
    """
    *_, last = after_each(content, steps)
    return last


def digests(content: bytes, steps: Sequence[Step]) -> tuple[str, ...]:
    """The digest of the array behind each step. Raises `FailedSampleError`."""
    return tuple(map(digest, after_each(content, steps)))


def digest(array: Array) -> str:
    """The first digits of the SHA-256 of its type, its shape and its elements in C order."""
    named = f"{array.dtype} {array.shape} ".encode()
    return hashlib.sha256(named + np.ascontiguousarray(array).tobytes()).hexdigest()[:DIGITS]


def after_each(content: bytes, steps: Sequence[Step]) -> Iterator[Array]:
    """The array behind each step, of steps that `check_steps` passed."""
    array: Array = np.empty(0, np.uint8)
    channels = -1
    for step in steps:
        match step:
            case Decode():
                array = decode(content, step)
            case Resize():
                array = resize(array, step)
            case CentreCrop():
                array = _cropped(array, *step.size)
            case Layout():
                array = _laid_out(array, step)
                channels = 0 if step.to == "NCHW" else -1
            case Cast():
                array = _as_type(array, np.dtype(step.to))
            case Normalise():
                array = _normalised(array, step, channels)
        yield array


def _cropped(array: Array, height: int, width: int) -> Array:
    if array.shape[0] < height or array.shape[1] < width:
        raise FailedSampleError(
            f"{array.shape[1]} x {array.shape[0]} pixels are fewer than the crop's "
            f"{width} x {height}"
        )
    top, left = (array.shape[0] - height) // 2, (array.shape[1] - width) // 2
    return array[top : top + height, left : left + width]


def _laid_out(array: Array, step: Layout) -> Array:
    if step.to == "NHWC":
        return array
    if step.by == "reshape":
        height, width, channels = array.shape
        return np.ascontiguousarray(array).reshape(channels, height, width)
    return np.ascontiguousarray(array.transpose(2, 0, 1))


def _normalised(array: Array, step: Normalise, channels: int) -> Array:
    mean, std = (_along(numbers, array, channels) for numbers in (step.mean, step.std))
    made = (array.astype(np.float32) * np.float32(step.scale) - mean) / std
    return _as_type(made, array.dtype)


def _along(numbers: Numbers, array: Array, axis: int) -> Array:
    listed = np.array(numbers, np.float32)
    if listed.ndim and len(listed) != array.shape[axis]:
        raise FailedSampleError(
            f"normalise has {len(listed)} numbers, and the image {array.shape[axis]} channels"
        )
    return listed.reshape(-1, 1, 1) if listed.ndim and axis == 0 else listed


def _as_type(array: Array, kind: np.dtype[np.generic]) -> Array:
    if kind == np.uint8:
        array = array.clip(0, 255)
    return array.astype(kind)
