"""What the steps make of images, by each library."""

import io
from itertools import product
from typing import Any

import msgspec
import numpy as np
import pytest
from onnx.reference.ops.op_resize import _interpolate_nd, _linear_coeffs
from PIL import Image

from benanza.pipelines.failing import FailedSampleError
from benanza.pipelines.images.decoding import decode
from benanza.pipelines.images.preparing import after_each, digests, prepared
from benanza.pipelines.images.resizing import resize, resized
from benanza.pipelines.images.steps import (
    RESIZES,
    Cast,
    CentreCrop,
    Decode,
    Layout,
    Normalise,
    Resize,
)
from benanza_runner.arrays import Array

PILLOW = Decode(library="pillow", colours="RGB")


def photograph(height: int = 36, width: int = 52) -> Array:
    """A picture of smooth slopes with some noise, of three channels that differ."""
    random = np.random.default_rng(0)
    down, right = np.mgrid[0:height, 0:width]
    slopes = np.stack([200 - 3 * down, 60 + 2 * right, 20 + down + right], axis=-1)
    return (slopes + random.integers(-8, 9, slopes.shape)).clip(0, 255).astype(np.uint8)


def encoded(pixels: Array, kind: str = "JPEG", **options: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


JPEG = encoded(photograph(), quality=75)


def test_libraries_decode_alike_but_for_colours_and_haste() -> None:
    pillow = decode(JPEG, PILLOW)
    assert (pillow.shape, pillow.dtype.name) == ((36, 52, 3), "uint8")
    for library in ("opencv", "simplejpeg"):
        assert np.array_equal(pillow, decode(JPEG, _decode(library, colours="RGB")))
    for library in ("pillow", "opencv", "simplejpeg"):
        swapped = decode(JPEG, _decode(library, colours="BGR"))
        assert np.array_equal(pillow[..., ::-1], swapped)
        grey = decode(JPEG, _decode(library, colours="grey"))
        luma = pillow @ np.array([0.299, 0.587, 0.114])
        assert grey.shape == (36, 52, 1)
        assert np.abs(grey[..., 0] - luma).max() < 3
    fast = decode(JPEG, Decode(library="simplejpeg", colours="RGB", jpeg="fast"))
    assert 0 < np.abs(fast.astype(int) - pillow).mean() < 8


def test_an_orientation_is_ignored_and_transparency_dropped() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    turned = encoded(photograph(), quality=75, exif=exif)
    clear = np.concatenate([photograph(), np.zeros((36, 52, 1), np.uint8)], axis=-1)
    for library in ("pillow", "opencv"):
        step = _decode(library, colours="RGB")
        assert np.array_equal(decode(turned, step), decode(JPEG, step))
        assert np.array_equal(decode(encoded(clear, "PNG"), step), photograph())


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("library", ["pillow", "opencv", "simplejpeg"])
def test_damaged_files_fail_with_a_reason(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    step = _decode(library, colours="RGB")
    png = encoded(photograph(), "PNG")
    for content in (b"", b"no image", JPEG[: len(JPEG) // 2], JPEG[:30], png[: len(png) // 2]):
        with pytest.raises(FailedSampleError, match=r"\w"):
            decode(content, step)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1_000)
    with pytest.raises(FailedSampleError, match="52 x 36 pixels are more than Pillow's limit"):
        decode(JPEG, step)


@pytest.mark.parametrize("library", ["pillow", "opencv", "simplejpeg"])
def test_behind_its_end_a_file_may_have_more(library: str) -> None:
    step = _decode(library, colours="RGB")
    assert np.array_equal(decode(JPEG + bytes(5_000), step), decode(JPEG, step))


@pytest.mark.parametrize("library", ["opencv", "simplejpeg"])
def test_the_end_of_a_thumbnail_is_not_that_of_the_file(library: str) -> None:
    """Segment APP1 has a whole JPEG file, as cameras write it."""
    segment = b"Exif\0\0" + JPEG
    content = JPEG[:2] + b"\xff\xe1" + (len(segment) + 2).to_bytes(2) + segment + JPEG[2:]
    step = _decode(library, colours="RGB")
    assert np.array_equal(decode(content, step), decode(JPEG, step))
    with pytest.raises(FailedSampleError, match="cut off"):
        decode(content[:-200], step)


@pytest.mark.parametrize("library", ["pillow", "opencv", "simplejpeg"])
@pytest.mark.parametrize("kind", ["EPS", "PPM", "TGA"])
def test_files_of_other_kinds_reach_no_plugin_of_pillow(library: str, kind: str) -> None:
    with pytest.raises(FailedSampleError, match="no image of JPEG, PNG, WEBP, BMP, GIF, TIFF"):
        decode(encoded(photograph(), kind), _decode(library, colours="RGB"))


def test_whatever_a_plugin_raises_fails_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object, **others: object) -> None:
        raise NotImplementedError("no such compression")

    opened = Image.open(io.BytesIO(encoded(photograph(), "TIFF")))
    monkeypatch.setattr(type(opened), "load", damaged)
    with pytest.raises(FailedSampleError, match="damaged: no such compression"):
        decode(encoded(photograph(), "TIFF"), PILLOW)
    monkeypatch.setattr(Image, "open", damaged)
    with pytest.raises(FailedSampleError, match="can't be read: no such compression"):
        decode(JPEG, PILLOW)


def _decode(library: str, **fields: str) -> Decode:
    return msgspec.convert({"step": "decode", "library": library, **fields}, Decode)


def _resize(library: str, how: str, corners: str, antialias: bool) -> Resize:
    fields = {"library": library, "interpolation": how, "corners": corners}
    given = {"step": "resize", "antialias": antialias, "size": [20, 24], **fields}
    return msgspec.convert(given, Resize)


@pytest.mark.parametrize(
    ("library", "rule"),
    [(library, rule) for library in RESIZES for rule in sorted(RESIZES[library])],
)
def test_every_interpolation_gives_the_size_and_keeps_the_mean(
    library: str, rule: tuple[str, str, bool]
) -> None:
    pixels = photograph()
    made = resize(pixels, _resize(library, *rule))
    assert (made.shape, made.dtype.name) == ((20, 24, 3), "uint8")
    assert np.allclose(made.mean(axis=(0, 1)), pixels.mean(axis=(0, 1)), atol=3)
    grey = resize(pixels[..., :1], _resize(library, *rule))
    assert np.array_equal(grey, made[..., :1])


def test_rules_of_corners_and_antialias_are_those_of_onnx() -> None:
    pixels = photograph()
    opencv = resize(pixels, _resize("opencv", "linear", "half_pixel", False)).astype(int)
    pillow = resize(pixels, _resize("pillow", "linear", "half_pixel", True)).astype(int)
    onnx = {
        rule: resize(pixels, _resize("onnx", "linear", *rule)).astype(int)
        for rule in product(("half_pixel", "align_corners", "asymmetric"), (False,))
    }
    smooth = resize(pixels, _resize("onnx", "linear", "half_pixel", True)).astype(int)
    assert np.abs(opencv - onnx["half_pixel", False]).max() <= 1
    assert np.abs(pillow - smooth).max() <= 1
    assert np.abs(pillow - opencv).max() > 1
    channel = pixels[..., 0].astype(np.float32)
    for (corners, _), made in onnx.items():
        expected = _interpolate_nd(
            channel,
            lambda ratio, scale: _linear_coeffs(ratio),
            output_size=[20, 24],
            scale_factors=[20 / 36, 24 / 52],
            coordinate_transformation_mode=corners,
        )
        assert np.abs(made[..., 0] - expected).max() <= 1
    assert np.array_equal(onnx["align_corners", False][-1, -1], pixels[-1, -1])


def test_the_shorter_side_decides_and_the_longer_is_rounded_down() -> None:
    step = Resize(
        library="pillow", interpolation="linear", corners="half_pixel", antialias=True, shorter=10
    )
    assert [resized(36, 52, step), resized(52, 36, step)] == [(10, 14), (14, 10)]
    assert resized(1, 1, step) == (10, 10)


@pytest.mark.parametrize("library", ["pillow", "opencv", "onnx"])
def test_a_long_image_is_not_made_huge_by_its_shorter_side(library: str) -> None:
    fields = {"library": library, "interpolation": "nearest", "corners": "half_pixel"}
    step = msgspec.convert({"step": "resize", "antialias": False, "shorter": 256, **fields}, Resize)
    with pytest.raises(FailedSampleError, match=r"15360000 x 256, .* give resize a size"):
        resize(np.zeros((1, 60_000, 3), np.uint8), step)


def test_the_order_of_steps_is_that_of_execution() -> None:
    pixels = decode(JPEG, PILLOW)
    normalise = Normalise(scale=1 / 255, mean=(0.5, 0.4, 0.3), std=(0.25, 0.2, 0.1))
    steps = (PILLOW, CentreCrop(size=(31, 40)), Cast(to="float32"), normalise, Layout(to="NCHW"))
    cut = pixels[2:33, 6:46].astype(np.float32)
    mean, std = np.array((0.5, 0.4, 0.3), np.float32), np.array((0.25, 0.2, 0.1), np.float32)
    expected = (cut * np.float32(1 / 255) - mean) / std
    made = prepared(JPEG, steps)
    assert made.shape == (3, 31, 40)
    assert np.allclose(made, expected.transpose(2, 0, 1), atol=1e-5)

    swapped = (*steps[:2], normalise, Cast(to="float32"), Layout(to="NCHW"))
    early = prepared(JPEG, swapped)
    assert np.array_equal(early, expected.clip(0, 255).astype(np.uint8).transpose(2, 0, 1))
    after_layout = (*steps[:3], Layout(to="NCHW"), normalise)
    assert np.array_equal(prepared(JPEG, after_layout), made)

    same_memory = prepared(JPEG, (*steps[:4], Layout(to="NCHW", by="reshape")))
    assert np.array_equal(same_memory.reshape(31, 40, 3).transpose(2, 0, 1), made)
    assert np.array_equal(prepared(JPEG, (*steps[:4], Layout(to="NHWC"))).transpose(2, 0, 1), made)


def test_a_step_that_an_image_is_too_small_for_fails() -> None:
    with pytest.raises(FailedSampleError, match="52 x 36 pixels are fewer than the crop's 53 x 20"):
        prepared(JPEG, (PILLOW, CentreCrop(size=(20, 53))))
    with pytest.raises(FailedSampleError, match="normalise has 2 numbers, and the image 3"):
        prepared(JPEG, (PILLOW, Normalise(mean=(1.0, 2.0))))


def test_a_digest_tells_type_shape_and_order() -> None:
    steps = (PILLOW, Layout(to="NHWC"), Layout(to="NHWC"), Cast(to="float32"))
    decoded, same, again, floats = digests(JPEG, steps)
    assert decoded == same == again != floats
    swapped = digests(JPEG, (Decode(library="pillow", colours="BGR"),))
    assert swapped[0] != decoded
    assert len(list(after_each(JPEG, steps))) == 4
