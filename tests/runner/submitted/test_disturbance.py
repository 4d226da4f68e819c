"""Both sides change inputs in the same way, and never soon back to what they were."""

import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.submitted.disturbance import Disturbance, block_of, pool_size


def made(sizes: tuple[int, ...]) -> tuple[list[Array], list[Array]]:
    random = np.random.default_rng(7)
    arrays = [random.random(size).astype(np.float32) for size in sizes]
    pools = [random.random(pool_size(size)).astype(np.float32) for size in sizes]
    return arrays, pools


@pytest.mark.parametrize("sizes", [(1,), (40,), (100_000,), (1, 40, 5000)])
def test_the_same_seed_makes_the_same_changes(sizes: tuple[int, ...]) -> None:
    (one, pools), (other, _) = made(sizes), made(sizes)
    steps = Disturbance(one, pools, 5), Disturbance(other, pools, 5)
    seen = set()
    for _ in range(300):
        for disturbance in steps:
            disturbance.step()
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
        seen.add(b"".join(array.tobytes() for array in one))
    assert len(seen) > 250, "hardly a state comes twice"


def test_at_most_a_part_is_changed_at_a_time() -> None:
    (array,), pools = made((160_000,))
    before = array.copy()
    Disturbance([array], pools, 1).step()
    assert 0 < (array != before).sum() <= block_of(160_000) == 4096
