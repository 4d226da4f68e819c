"""Configurations of the engine of cuDNN that computes a convolution's input while it convolves.

Its heuristics (9.19) offer tiles of 128×128 and 128×64 for any shape, with which a small input
keeps few multiprocessors busy. The engine has other tiles, and can sum over slices of the channels
in parallel. Source: the names of the kernels that it generates, such as `…_knob_36_32x32x64_8_0`.
Which slices it refuses was found by asking it with the properties of an H200.
"""

from math import prod

from benanza_runner.cuda.calls import Convolution

ENGINE = 7

TILES = {36: (32, 32, 64), 11: (64, 64, 64)}
"""By the value of the engine's knob KERNEL_CFG: how many pixels, channels of the output and
channels of the input a block takes at once. Each takes about a second to compile, so these are few.
"""

MOST_SLICES = 32


def configurations(call: Convolution, multiprocessors: int) -> list[dict[str, int]]:
    """The knobs of each configuration, by name: each tile, in as many slices as have room."""
    pixels = prod(call.output) // call.output[1]
    channels = call.output[1] // call.groups
    knob_sets = []
    for number, (rows, columns, deep) in TILES.items():
        knobs = {"KERNEL_CFG": number}
        blocks = call.groups * -(-pixels // rows) * -(-channels // columns)
        room = min(multiprocessors // blocks, call.filter[1] // deep, MOST_SLICES)
        if room > 1:
            knobs["SPLIT_K_SLC"] = 1 << room.bit_length() - 1
        knob_sets.append(knobs)
    return knob_sets
