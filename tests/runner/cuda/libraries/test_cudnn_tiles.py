"""Which plans are asked of cuDNN beyond those that it offers."""

from hypothesis import given
from hypothesis import strategies as st

from benanza_runner.cuda.calls import Convolution
from benanza_runner.cuda.libraries.cudnn_tiles import MOST_SLICES, TILES, configurations


def pointwise(batch: int, channels: int, size: int, outputs: int, groups: int = 1) -> Convolution:
    """A convolution of a pixel each."""
    return Convolution(
        (batch, channels, size, size),
        (outputs, channels // groups, 1, 1),
        (batch, outputs, size, size),
        *((1, 1), (1, 1), (0, 0), (0, 0)),
    )


def test_a_small_image_is_cut_into_slices_of_its_channels() -> None:
    """Of 14×14 pixels, 32 at a time, and 128 channels: 28 blocks on 132 multiprocessors."""
    found = configurations(pointwise(1, 512, 14, 128), 132)
    assert found == [
        {"KERNEL_CFG": 36, "SPLIT_K_SLC": 4},
        {"KERNEL_CFG": 11, "SPLIT_K_SLC": 8},
    ]


def test_a_large_image_and_few_channels_are_not() -> None:
    whole = [{"KERNEL_CFG": number} for number in TILES]
    assert configurations(pointwise(32, 512, 56, 128), 132) == whole
    assert configurations(pointwise(1, 64, 7, 128), 132) == whole
    assert configurations(pointwise(1, 512, 7, 512, groups=8), 132) == whole


@given(
    st.integers(1, 32),
    st.integers(1, 2000),
    st.integers(1, 60),
    st.integers(1, 600),
    st.integers(1, 160),
)
def test_slices_fill_the_multiprocessors_and_no_more(
    batch: int, channels: int, size: int, outputs: int, multiprocessors: int
) -> None:
    call = pointwise(batch, channels, size, outputs)
    most = {each["KERNEL_CFG"]: each for each in configurations(call, multiprocessors)}
    assert most.keys() == TILES.keys()
    for number, (rows, columns, deep) in TILES.items():
        blocks = -(-batch * size * size // rows) * -(-outputs // columns)

        def fits(slices: int, blocks: int = blocks, deep: int = deep) -> bool:
            room = slices * blocks <= multiprocessors and slices * deep <= channels
            return slices == 1 or (room and slices <= MOST_SLICES)

        slices = most[number].get("SPLIT_K_SLC", 1)
        assert fits(slices)
        assert not fits(2 * slices)
