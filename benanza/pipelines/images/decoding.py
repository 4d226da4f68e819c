"""Image files of strangers as arrays, by the library that a step names."""

import io
from typing import Any

import numpy as np

from benanza.pipelines.failing import FailedSampleError, needed
from benanza.pipelines.images.steps import Decode
from benanza_runner.arrays import Array

JPEG_START, JPEG_SCAN, JPEG_END = b"\xff\xd8\xff", b"\xff\xda", b"\xff\xd9"
"""Markers. Source: ITU-T T.81, annex B."""

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
"""Those that images of data sets have. Pillow's plugins for others run programs on the files of
strangers, as Ghostscript for EPS, or are little tested against damage.
"""


def decode(content: bytes, step: Decode) -> Array:
    """The image in a file: (height, width, 3), or 1 for grey, in uint8.

    Raises `FailedSampleError` for what is no image of one of `FORMATS`, is damaged, or has more
    pixels than Pillow's limit against decompression bombs.
    """
    image = _opened(content)
    if step.library == "pillow":
        return _by_pillow(image, step)
    if content.startswith(JPEG_START) and JPEG_END not in content[_first_scan(content) :]:
        raise FailedSampleError("the file is cut off")  # OpenCV would fill the rest with grey
    return _by_opencv(content, step) if step.library == "opencv" else _by_simplejpeg(content, step)


def _first_scan(content: bytes) -> int:
    """Where the pixels of a JPEG file begin: behind segments such as that of a thumbnail, which has
    an end of its own. Behind its end a file may have anything, such as a film.
    """
    place = len(JPEG_START) - 1
    while content[place : place + 1] == b"\xff" and content[place : place + 2] != JPEG_SCAN:
        if content[place + 1 : place + 2] == b"\xff":  # markers may be filled up
            place += 1
        else:
            place += 2 + int.from_bytes(content[place + 2 : place + 4])
    return place


def _opened(content: bytes) -> Any:
    """The image's header, read by Pillow whatever decodes it, for the sake of the limit."""
    pil = needed("PIL.Image", "pillow")
    most = pil.MAX_IMAGE_PIXELS
    try:
        image = pil.open(io.BytesIO(content), formats=FORMATS)
    except pil.UnidentifiedImageError as error:
        raise FailedSampleError(f"the file is no image of {', '.join(FORMATS)}") from error
    except Exception as error:  # what plugins raise for damaged headers shares no narrower base
        raise FailedSampleError(f"the file can't be read: {error}") from error
    if image.width * image.height > most:
        raise FailedSampleError(
            f"{image.width} x {image.height} pixels are more than Pillow's limit of {most:,}"
        )
    return image


def _by_pillow(image: Any, step: Decode) -> Array:
    try:
        pixels = np.asarray(image.convert("L" if step.colours == "grey" else "RGB"))
    except Exception as error:  # what plugins raise for damaged files shares no narrower base
        raise FailedSampleError(f"the file is damaged: {error}") from error
    return _ordered(pixels, "RGB", step)


def _by_opencv(content: bytes, step: Decode) -> Array:
    cv2 = needed("cv2", "opencv-python-headless")
    flags = cv2.IMREAD_GRAYSCALE if step.colours == "grey" else cv2.IMREAD_COLOR
    try:
        pixels = cv2.imdecode(
            np.frombuffer(content, np.uint8), flags | cv2.IMREAD_IGNORE_ORIENTATION
        )
    except cv2.error as error:
        raise FailedSampleError(f"the file is damaged: {error.err}") from error
    if pixels is None:
        raise FailedSampleError("the file is damaged, or of a kind that OpenCV doesn't read")
    return _ordered(pixels, "BGR", step)


def _by_simplejpeg(content: bytes, step: Decode) -> Array:
    simplejpeg = needed("simplejpeg", "simplejpeg")
    space = "GRAY" if step.colours == "grey" else step.colours
    fast = step.jpeg == "fast"
    try:
        pixels: Array = simplejpeg.decode_jpeg(
            content, colorspace=space, fastdct=fast, fastupsample=fast
        )
    except ValueError as error:
        raise FailedSampleError(f"simplejpeg can't read the file: {error}") from error
    return pixels


def _ordered(pixels: Array, order: str, step: Decode) -> Array:
    if step.colours == "grey":
        return pixels[..., np.newaxis]
    return pixels if step.colours == order else np.ascontiguousarray(pixels[..., ::-1])
