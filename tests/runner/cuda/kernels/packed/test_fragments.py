"""Each thread's words have the weights that the layouts of NVIDIA's PTX ISA give it."""

import numpy as np

from benanza_runner.cuda.kernels.packed.fragments import (
    by_unit,
    weights_in_fragments,
    weights_in_turn,
    zeros_by_unit,
)


def test_a_word_is_a_threads_part_of_a_fragment() -> None:
    """A thread has rows `lane / 4` and 8 more; of each word's 16 weights, pairs."""
    n, k = 21, 160
    numbers = np.random.default_rng(3).integers(0, 16, (n, k), np.uint8)
    packed = numbers[:, ::2] | numbers[:, 1::2] << 4
    words = weights_in_fragments(np, packed.reshape(n, 5, 16), n).view(np.uint32)
    assert words.shape == (2, 3, 32, 4)
    whole = np.zeros((32, 192), np.uint8)
    whole[:n, :k] = numbers
    for (tile, unit, lane, word), found in np.ndenumerate(words):
        for register in range(4):
            row = tile * 16 + lane // 4 + register % 2 * 8
            first = unit * 64 + word // 2 * 32 + lane % 4 * 8 + word % 2 * 4 + register // 2 * 2
            pair = int(found) >> 4 * register
            assert (pair & 15, pair >> 16 & 15) == tuple(whole[row, first : first + 2])


def test_weights_follow_each_other_as_elements_in_shared_memory_do() -> None:
    """A word has of 16 weights in turn what a thread of the first factor has."""
    n, k = 21, 160
    numbers = np.random.default_rng(3).integers(0, 16, (n, k), np.uint8)
    packed = numbers[:, ::2] | numbers[:, 1::2] << 4
    words = weights_in_turn(np, packed.reshape(n, 5, 16), n, 4).view(np.uint32)
    whole = np.zeros((32, 192), np.uint8)
    whole[:n, :k] = numbers
    for (tile, unit, lane, word), found in np.ndenumerate(words):
        for register in range(4):
            row = tile * 16 + lane // 4 + register % 2 * 8
            first = unit * 64 + word * 16 + register // 2 * 8 + lane % 4 * 2
            pair = int(found) >> 4 * register
            assert (pair & 15, pair >> 16 & 15) == tuple(whole[row, first : first + 2])


def test_words_of_eight_bits_have_a_pair_of_two_rows() -> None:
    """A half of a unit has 32 weights: four words of each thread."""
    whole = np.random.default_rng(3).integers(0, 256, (32, 128), np.uint8)
    halves = weights_in_turn(np, whole.reshape(32, 4, 32), 32, 8)
    assert halves.shape == (2, 4, 32, 16)
    for (tile, half, lane, place), found in np.ndenumerate(halves):
        row = tile * 16 + lane // 4 + place // 2 % 2 * 8
        first = half * 32 + place // 8 * 16 + place // 4 % 2 * 8 + lane % 4 * 2
        assert found == whole[row, first + place % 2]


def test_scales_lie_as_units_are_read() -> None:
    scales = np.arange(17 * 6, dtype=np.uint16).reshape(17, 6)
    halves = by_unit(np, scales, 32)
    assert halves.shape == (2, 3, 8, 2, 2)
    assert halves[0, 2, 5].tolist() == [
        [scales[5, 4], scales[13, 4]],
        [scales[5, 5], scales[13, 5]],
    ]
    assert halves[1, 0, 0].tolist() == [[scales[16, 0], 0], [scales[16, 1], 0]]
    assert by_unit(np, scales, 128)[0, 4, 7].tolist() == [[scales[7, 4], scales[15, 4]]]


def test_zero_points_are_unpacked() -> None:
    """Of three blocks, packed in two bytes."""
    packed = np.array([[0x21, 0xF3]] * 16, np.uint8)
    assert zeros_by_unit(np, packed, 16, 3, 64)[0, :, 0, 0].tolist() == [[1, 1], [2, 2], [3, 3]]
