"""The two layouts of images: channels before space, or after it."""

from collections.abc import Iterator
from math import prod


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
