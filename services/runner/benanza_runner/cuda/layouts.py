"""The two layouts of feature maps: channels first (NCHW), or last (NHWC)."""

from collections.abc import Iterator
from math import prod

from benanza_runner.cuda.calls import Shape

RANKS = (3, 4, 5)
"""How many axes feature maps have: batch, channels, and one to three of space."""

Order = tuple[int, ...]
"""A tensor's axes from the slowest to the fastest in memory, numbered as ONNX does."""


def feature_map_layouts(rank: int) -> Iterator[tuple[str, Order]]:
    """Name and order of axes of both layouts, channels first, for so many axes."""
    space = tuple(range(2, rank))
    names = {3: "W", 4: "HW", 5: "DHW"}
    letters = names.get(rank, "".join(f"S{axis}" for axis in space))
    yield f"NC{letters}", (0, 1, *space)
    yield f"N{letters}C", (0, *space, 1)


def with_one_axis_of_space(order: Order) -> Order:
    """The order of the axes of feature maps with one axis of space, from that of the same with an
    axis of one before it, as `windows.in_space` adds it.
    """
    return tuple([axis - (axis > 2) for axis in order if axis != 2])


def depends_on_layout(shape: Shape) -> bool:
    """Whether a tensor of this shape lies otherwise in memory in each of the two layouts."""
    return len(shape) >= 3 and shape[1] > 1 and prod(shape[2:]) > 1


def feature_map_layout(layout: str) -> str:
    """A variant's layout if it is one of feature maps, else an empty name.

    Only these are converted into each other; `weights transposed`, for one, is not.
    """
    names = {name for rank in RANKS for name, _ in feature_map_layouts(rank)}
    return layout if layout in names else ""
