"""Configurations of the engine of cuDNN that computes a convolution's input while it convolves.

Its heuristics (9.19) offer tiles of 128×128 and 128×64 for whatever shape, with which a small
input keeps few multiprocessors busy. The engine has others, and sums over slices of the channels
at once. Read: the names of the kernels that it generates, `…_knob_36_32x32x64_8_0` for one; which
slices it refuses was asked of it with the properties of an H200.
"""

from math import prod

from benanza_runner.cuda.calls import Convolution

ENGINE = 7

TILES = {36: (32, 32, 64), 11: (64, 64, 64)}
"""Pixels, channels of the output and channels of the input that a block takes at once, by the value
of the engine's knob KERNEL_CFG. Each takes about a second to compile, so these are few."""

MOST_SLICES = 32


def configurations(call: Convolution, multiprocessors: int) -> list[dict[str, int]]:
    """Knobs by their names: each tile, in as many slices as there is room for."""
    pixels = prod(call.output) // call.output[1]
    channels = call.output[1] // call.groups
    found = []
    for number, (rows, columns, deep) in TILES.items():
        knobs = {"KERNEL_CFG": number}
        blocks = call.groups * -(-pixels // rows) * -(-channels // columns)
        room = min(multiprocessors // blocks, call.filter[1] // deep, MOST_SLICES)
        if room > 1:
            knobs["SPLIT_K_SLC"] = 1 << room.bit_length() - 1
        found.append(knobs)
    return found
