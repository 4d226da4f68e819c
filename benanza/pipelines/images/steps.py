"""The steps of pre-processing, each with what it means exactly.

The order in which a specification lists them is the order in which they run. An image is an array
(height, width, channels) until a step `layout` changes that.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import numpy as np

Size = Annotated[int, msgspec.Meta(ge=1, le=16_384)]
"""Of a side, in pixels."""

Numbers = float | Annotated[tuple[float, ...], msgspec.Meta(min_length=1)]
"""One for all channels, or one for each."""

ElementType = Literal["uint8", "float16", "float32"]


class _Step(
    msgspec.Struct, tag_field="step", frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """What all have."""


class Decode(_Step, tag="decode", frozen=True, kw_only=True):
    """An image file of 8 bits a channel becomes uint8; what a library makes of other files, such as
    CMYK, is its own. Transparency is dropped, and an orientation in EXIF ignored.

    `colours` is the order of the channels; `grey` has one, the luma of ITU-R BT.601. `jpeg` is
    `exact` for the precise integer transform with smooth upsampling of chroma, as libjpeg-turbo
    does by default, and `fast` for the transform of less precision with repeated chroma, which
    only simplejpeg offers.
    """

    library: Literal["pillow", "opencv", "simplejpeg"]
    colours: Literal["RGB", "BGR", "grey"]
    jpeg: Literal["exact", "fast"] = "exact"


class Resize(_Step, tag="resize", frozen=True, kw_only=True):
    """Another number of pixels: `size` is (height, width); or the `shorter` side has so many, and
    the longer one ⌊longer · shorter / side⌋.

    `corners` says which coordinates of both images are the same, in the words of ONNX's operator
    Resize: `half_pixel` the edges of the image, `align_corners` the centres of its corner pixels,
    `asymmetric` the first pixel and the scale. With `antialias` the filter is as wide as a pixel
    of the result. `cubic` is with a = -0.5 in Pillow and a = -0.75 in OpenCV and ONNX.
    """

    library: Literal["pillow", "opencv", "onnx"]
    interpolation: Literal["nearest", "linear", "cubic", "lanczos", "area"]
    corners: Literal["half_pixel", "align_corners", "asymmetric"]
    antialias: bool
    size: tuple[Size, Size] | None = None
    shorter: Size | None = None


class CentreCrop(_Step, tag="centre-crop", frozen=True, kw_only=True):
    """The middle (height, width) of an image: ⌊rest / 2⌋ pixels are cut off above and on the left.
    A smaller image is a failed sample.
    """

    size: tuple[Size, Size]


class Layout(_Step, tag="layout", frozen=True, kw_only=True):
    """The axes in the model's input. `reshape` gives the same memory another shape, as a program
    does that hands over a buffer in the wrong layout.
    """

    to: Literal["NCHW", "NHWC"]
    by: Literal["transpose", "reshape"] = "transpose"


class Cast(_Step, tag="cast", frozen=True, kw_only=True):
    """Another type of elements; to uint8, fractions are dropped and values held in 0 to 255."""

    to: ElementType


class Normalise(_Step, tag="normalise", frozen=True, kw_only=True):
    """(x · scale - mean) / std, for each channel, computed in float32. The result has the type
    of x: of uint8, fractions are dropped and values held in 0 to 255.
    """

    scale: float = 1.0
    mean: Numbers = 0.0
    std: Numbers = 1.0


Step = Decode | Resize | CentreCrop | Layout | Cast | Normalise

RESIZES = {
    "pillow": {
        ("nearest", "half_pixel", False),
        *((how, "half_pixel", True) for how in ("linear", "cubic", "lanczos", "area")),
    },
    "opencv": {
        *((how, "half_pixel", False) for how in ("nearest", "linear", "cubic", "lanczos")),
        ("nearest", "asymmetric", False),
        ("area", "half_pixel", True),
    },
    "onnx": {
        *(
            (how, corners, False)
            for how in ("nearest", "linear", "cubic")
            for corners in ("half_pixel", "align_corners", "asymmetric")
        ),
        ("linear", "half_pixel", True),
        ("cubic", "half_pixel", True),
    },
}
"""By library: which interpolation it has with which rule of corners, with or without antialias."""


class StepError(Exception):
    """What is wrong with the step at `position`, and with which `key` of it."""

    def __init__(self, position: int, key: str, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.key = key


def step_name(step: Step) -> str:
    """What a specification calls it."""
    return str(step.__struct_config__.tag)


def check_steps(steps: Sequence[Step]) -> None:
    """Raises `StepError` for the first step that can't run where it stands."""
    if not steps or not isinstance(steps[0], Decode):
        raise StepError(0, "step", 'the first step has to be "decode"')
    kind, laid_out = "uint8", False
    for position, step in enumerate(steps):
        match step:
            case Decode() if position:
                raise StepError(position, "step", "an image is decoded once, by the first step")
            case Decode(jpeg="fast") if step.library != "simplejpeg":
                raise StepError(
                    position, "jpeg", f"{step.library} has no fast JPEG; name simplejpeg"
                )
            case Resize() | CentreCrop() if laid_out:
                raise StepError(position, "step", f"put {step_name(step)} before layout")
            case Resize():
                _check_resize(position, step, kind)
            case Cast():
                kind = step.to
            case Layout() if laid_out:
                raise StepError(position, "step", "lay an image out once")
            case Layout():
                laid_out = True
            case Normalise():
                _check_normalise(position, step)


def _check_resize(position: int, step: Resize, kind: str) -> None:
    if (step.size is None) == (step.shorter is None):
        raise StepError(position, "size", "give one of size and shorter")
    if kind != "uint8":
        raise StepError(position, "step", f"resize takes uint8, and gets {kind}: put it before")
    known = RESIZES[step.library]
    if (step.interpolation, step.corners, step.antialias) not in known:
        same = [(corners, anti) for how, corners, anti in known if how == step.interpolation]
        has = [
            f"corners {corners}, antialias {str(anti).lower()}" for corners, anti in sorted(same)
        ]
        raise StepError(
            position,
            "interpolation",
            f"{step.library} has {step.interpolation} with {' or '.join(has)}"
            if has
            else f"{step.library} has no interpolation {step.interpolation}",
        )


def _check_normalise(position: int, step: Normalise) -> None:
    for key in ("scale", "mean", "std"):
        with np.errstate(over="ignore"):
            numbers = np.asarray(getattr(step, key), np.float32)  # as it is computed
        if not np.isfinite(numbers).all():
            raise StepError(position, key, f"{key} has to be finite in float32")
        if key == "std" and not numbers.all():
            raise StepError(position, key, "std can't be 0 in float32")
