"""The two layouts of images: channels before space, or after it."""

from collections.abc import Iterator, Sequence
from math import inf, prod

from benanza_schemas.events import Variant

RANKS = (3, 4, 5)
"""Of images: with one to three axes of space."""


def image_layouts(rank: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Name and order of axes, the slowest first, for images of this many axes."""
    space = tuple(range(2, rank))
    names = {3: "W", 4: "HW", 5: "DHW"}
    letters = names.get(rank, "".join(f"S{axis}" for axis in space))
    yield f"NC{letters}", (0, 1, *space)
    yield f"N{letters}C", (0, *space, 1)


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether it makes a difference in which layout a tensor of this shape is kept."""
    return len(shape) >= 3 and shape[1] > 1 and prod(shape[2:]) > 1


def image_layout(layout: str) -> str:
    """A variant's layout if it is one of images, else an empty name: no call turns the others."""
    names = {name for rank in RANKS for name, _ in image_layouts(rank)}
    return layout if layout in names else ""


def best_by_layout(variants: Sequence[Variant]) -> list[int]:
    """Places of the fastest variant in each layout of images, and of the fastest that has none.

    Of two with the same median it is the one with less spread, as it is for the analyzer, which
    looks for times in company of these.
    """
    best: dict[str, int] = {}
    for place in sorted(range(len(variants)), key=lambda place: _time(variants[place])):
        best.setdefault(image_layout(variants[place].layout), place)
    return list(best.values())


def _time(variant: Variant) -> tuple[float, float]:
    return variant.median_us or inf, variant.iqr_us or 0.0
