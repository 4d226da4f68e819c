"""The windows of a convolution, copied to the rows of a matrix: the convolution is then a product.

Chellapilla, Puri and Simard, "High Performance Convolutional Neural Networks for Document
Processing", 2006.
"""

from math import gcd
from typing import NamedTuple

from benanza_runner.cuda.calls import Convolution
from benanza_runner.cuda.kernels.launching import WIDE_BYTES, WORDS

NAME = "windows"
LEAST_RUN_BYTES = 4
"""Runs of so many bytes are moved at once. Shorter ones are as well moved element by element."""


class WindowsSource(NamedTuple):
    """A kernel, and how many elements each of its threads writes."""

    text: str
    pack: int


def windows_source(call: Convolution, size: int, columns: int) -> WindowsSource:
    """What copies feature maps with channels last, of elements of so many bytes, to rows of so many
    `columns`: a row for each pixel of the output, filled up with zeros. In it, the window's pixels
    follow each other, and the channels of a pixel.

    The convolution has two axes of space and one group. `columns` is a multiple of 16 bytes.
    """
    _, channels, height, width = call.input
    _, _, tall, wide = call.filter
    _, _, rows, across = call.output
    (step_y, step_x), (apart_y, apart_x) = call.strides, call.dilations
    above, left, *_ = call.pads_before
    run = _run(call, columns)
    fits = [n for n in WORDS if n >= max(size, LEAST_RUN_BYTES) and run * size % n == 0]
    word = fits[0] if fits else size
    pack, per_word = WIDE_BYTES // size, word // size
    text = f"""
extern "C" __global__ void {NAME}(const {WORDS[size]}* __restrict__ p,
    {WORDS[size]}* __restrict__ q, unsigned total) {{
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * {pack};
  if (first >= total) return;
  const unsigned row = first / {columns}, column = first % {columns};
  const int y = row / {across} % {rows} * {step_y} - {above};
  const int x = row % {across} * {step_x} - {left};
  const unsigned image = row / {rows * across};
  union {{ {WORDS[word]} each[{pack // per_word}]; uint4 all; }} found;
  #pragma unroll
  for (int at = 0; at < {pack // per_word}; ++at) {{
    const int place = column + at * {per_word};
    const int down = y + place / {wide * channels} * {apart_y};
    const int over = x + place / {channels} % {wide} * {apart_x};
    const bool there = place < {tall * wide * channels}
        && down >= 0 && down < {height} && over >= 0 && over < {width};
    const size_t from =
        (((size_t)image * {height} + down) * {width} + over) * {channels} + place % {channels};
    found.each[at] = {{}};
    if (there) found.each[at] = *reinterpret_cast<const {WORDS[word]}*>(p + from);
  }}
  reinterpret_cast<uint4*>(q)[first / {pack}] = found.all;
}}
"""
    return WindowsSource(text, pack)


def _run(call: Convolution, columns: int) -> int:
    """How many elements lie next to each other in all windows, from multiples of as many."""
    channels = call.input[1]
    if any((*call.pads_before, *call.pads_after)) or call.dilations[1] > 1:
        return gcd(channels, columns)
    return gcd(channels * gcd(call.filter[3], call.strides[1], call.input[3]), columns)
