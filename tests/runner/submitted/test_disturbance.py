"""Both sides change inputs in the same way, wholly, and never soon back to what they were."""

import ml_dtypes  # noqa: F401  # so that NumPy knows bfloat16
import numpy as np
import pytest

from benanza_runner.arrays import Array
from benanza_runner.submitted.disturbance import Disturbance, pool_size


def made(sizes: tuple[int, ...]) -> tuple[list[Array], list[Array | None]]:
    random = np.random.default_rng(7)
    arrays = [random.random(size).astype(np.float32) for size in sizes]
    pools = [random.random(pool_size(size)).astype(np.float32) for size in sizes]
    return arrays, [*pools]


@pytest.mark.parametrize("sizes", [(1,), (40,), (100_000,), (1, 40, 5000)])
def test_the_same_seed_makes_the_same_changes(sizes: tuple[int, ...]) -> None:
    (one, pools), (other, _) = made(sizes), made(sizes)
    steps = Disturbance(one, pools, 5)
    seen = set()
    for _ in range(300):
        steps.step()
        seen.add(b"".join(array.tobytes() for array in one))
    Disturbance(other, pools, 5).skip(300)
    assert all((a == b).all() for a, b in zip(one, other, strict=True))
    assert len(seen) == 300


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "bfloat16", "int64"])
def test_all_is_changed_at_a_time_and_stays_in_its_range(dtype: str) -> None:
    """A sixteenth of one input was: what had been computed of the rest could be used again."""
    random = np.random.default_rng(1)
    pool = (100 * random.uniform(0.3, 1, pool_size(100_000))).astype(np.dtype(dtype))
    array, fixed = np.resize(pool, 100_000), np.ones(5, np.float32)
    changes = Disturbance([array, fixed], [pool, None], 1)
    for _ in range(20):
        before = array.copy()
        changes.step()
        assert (array == before).mean() < 0.05
        wide = array.astype(np.float64)
        assert wide.min() > 0.93 * 30 - 1
        assert wide.max() < 1.07 * 100
        assert (fixed == 1).all()
