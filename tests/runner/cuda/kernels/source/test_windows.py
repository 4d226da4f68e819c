"""Windows lie in rows as NumPy puts them there, by the kernel compiled for this processor."""

from pathlib import Path

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from benanza_runner.cuda.calls import Convolution
from benanza_runner.cuda.kernels.source.windows import windows_source
from tests.runner.cuda.kernels.source.on_the_cpu import aligned, run

WORDS = "struct uint4 { unsigned each[4]; };\nstruct uint2 { unsigned each[2]; };\n"
SIZE = 4
PACK = 16 // SIZE


def convolution(
    channels: int,
    pixels: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    dilations: tuple[int, int] = (1, 1),
) -> Convolution:
    whole = [size + pads[at] + pads[at + 2] for at, size in enumerate(pixels)]
    reach = [(size - 1) * apart + 1 for size, apart in zip(window, dilations, strict=True)]
    output = [(w - r) // s + 1 for w, r, s in zip(whole, reach, strides, strict=True)]
    return Convolution(
        input=(2, channels, *pixels),
        filter=(5, channels, *window),
        output=(2, 5, *output),
        strides=strides,
        dilations=dilations,
        pads_before=pads[:2],
        pads_after=pads[2:],
    )


@pytest.mark.parametrize(
    ("call", "moves"),
    [
        (convolution(3, (8, 8), (4, 4), (4, 4)), "uint4"),
        (convolution(3, (10, 10), (2, 2), (2, 2)), "uint2"),
        (convolution(8, (4, 6), (2, 2), (2, 2)), "uint4"),
        (convolution(4, (7, 9), (3, 2), (2, 1), (1, 0, 1, 1)), "uint4"),
        (convolution(3, (9, 8), (3, 3), (2, 2), (1, 1, 1, 1)), "unsigned"),
        (convolution(1, (9, 11), (3, 3), (1, 2), (2, 1, 2, 1), (2, 2)), "unsigned"),
        (convolution(3, (9, 9), (7, 7), (7, 7)), "unsigned"),
    ],
)
def test_windows_are_rows(call: Convolution, moves: str, tmp_path: Path) -> None:
    x = np.arange(1, np.prod(call.input) + 1, dtype=np.float32).reshape(call.input)
    (above, left), (below, right) = call.pads_before, call.pads_after
    padded = np.pad(x, ((0, 0), (0, 0), (above, below), (left, right)))
    reach = [(n - 1) * d + 1 for n, d in zip(call.filter[2:], call.dilations, strict=True)]
    (down, over), (tall, wide) = call.strides, call.dilations
    windows = sliding_window_view(padded, reach, (2, 3))[:, :, ::down, ::over, ::tall, ::wide]
    expected = windows.transpose(0, 2, 3, 4, 5, 1).reshape(-1, np.prod(call.filter[1:]))
    columns = -(-expected.shape[1] // PACK) * PACK
    expected = np.pad(expected, ((0, 0), (0, columns - expected.shape[1])))
    source = windows_source(call, SIZE, columns)
    assert f"const {moves}*>" in source.text
    found = aligned(np.full(expected.shape, np.nan, np.float32))
    last = aligned(x.transpose(0, 2, 3, 1))
    run(WORDS + source.text, tmp_path, expected.size // source.pack, last, found, expected.size)
    np.testing.assert_array_equal(found, expected)
