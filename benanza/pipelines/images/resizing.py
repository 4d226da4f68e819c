"""Images of another size, by the library that a step names."""

from functools import cache
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

from benanza.pipelines.failing import FailedSampleError, needed
from benanza.pipelines.images.steps import Resize
from benanza_runner.arrays import Array
from benanza_runner.onnx_layers.layer_model import IR_VERSION

OPSET = 19
"""The first with `antialias` and today's rules of corners is 18."""

_PILLOW = {"nearest": "NEAREST", "linear": "BILINEAR", "cubic": "BICUBIC", "lanczos": "LANCZOS"}
_OPENCV = {"linear": "LINEAR", "cubic": "CUBIC", "lanczos": "LANCZOS4", "area": "AREA"}


def resize(pixels: Array, step: Resize) -> Array:
    """(height, width, channels) in uint8, at another size, as `check_steps` lets it be asked for.

    Pillow and OpenCV round to uint8 in their own ways. ONNX's result is computed in float32 by
    ONNX Runtime, held in 0 to 255 and rounded half to even.
    """
    height, width = resized(pixels.shape[0], pixels.shape[1], step)
    if step.library == "pillow":
        made = _by_pillow(pixels, step, height, width)
    elif step.library == "opencv":
        made = _by_opencv(pixels, step, height, width)
    else:
        made = _by_onnx(pixels, step, height, width)
    return made.reshape(height, width, pixels.shape[2])


def resized(height: int, width: int, step: Resize) -> tuple[int, int]:
    """The height and width that an image of this size gets. Raises `FailedSampleError` for a long
    image that gets more pixels by its shorter side than one may have that is decoded.
    """
    if step.size is not None:
        return step.size
    assert step.shorter is not None, "check_steps lets no step be without both"
    side = min(height, width)
    height, width = height * step.shorter // side, width * step.shorter // side
    most = needed("PIL.Image", "pillow").MAX_IMAGE_PIXELS
    if height * width > most:
        raise FailedSampleError(
            f"at {step.shorter} pixels of the shorter side it becomes {width} x {height}, more "
            f"than Pillow's limit of {most:,} pixels; give resize a size"
        )
    return height, width


def _by_pillow(pixels: Array, step: Resize, height: int, width: int) -> Array:
    pil = needed("PIL.Image", "pillow")
    how = getattr(pil.Resampling, _PILLOW.get(step.interpolation, "BOX"))
    image = pil.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    return np.asarray(image.resize((width, height), how))


def _by_opencv(pixels: Array, step: Resize, height: int, width: int) -> Array:
    cv2 = needed("cv2", "opencv-python-headless")
    nearest = "NEAREST_EXACT" if step.corners == "half_pixel" else "NEAREST"
    how = getattr(cv2, f"INTER_{_OPENCV.get(step.interpolation, nearest)}")
    made: Array = cv2.resize(pixels, (width, height), interpolation=how)
    return made


def _by_onnx(pixels: Array, step: Resize, height: int, width: int) -> Array:
    channels_first = pixels.transpose(2, 0, 1)[np.newaxis].astype(np.float32)
    sizes = np.array([1, pixels.shape[2], height, width], np.int64)
    session = _session(step.interpolation, step.corners, step.antialias)
    (made,) = session.run(None, {"x": channels_first, "sizes": sizes})
    rounded: Array = np.rint(made[0].clip(0, 255)).astype(np.uint8).transpose(1, 2, 0)
    return rounded


@cache
def _session(interpolation: str, corners: str, antialias: bool) -> Any:
    node = helper.make_node(
        "Resize",
        ["x", "", "", "sizes"],
        ["y"],
        mode=interpolation,
        coordinate_transformation_mode=corners,
        antialias=int(antialias),
    )
    shape: list[str | int | None] = [1, "channels", "height", "width"]
    new_shape: list[str | int | None] = [1, "channels", "new_height", "new_width"]
    graph = helper.make_graph(
        [node],
        "resize",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("sizes", TensorProto.INT64, [4]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, new_shape)],
    )
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, ir_version=IR_VERSION, opset_imports=opsets)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
