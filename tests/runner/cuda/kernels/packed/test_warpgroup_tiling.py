"""How products with packed weights are shared out to warpgroups."""

import pytest

from benanza_runner.cuda.kernels.packed.warpgroup_tiling import WarpgroupTiling, tilings_for
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking


@pytest.mark.parametrize(
    ("m", "tiles", "rows"), [(9, 1, 16), (64, 1, 64), (65, 2, 40), (100, 2, 56), (200, 4, 56)]
)
def test_rows_are_shared_out_evenly_in_groups(m: int, tiles: int, rows: int) -> None:
    tiling = WarpgroupTiling(1, 2, 2, 64)
    assert (tiling.row_tiles(m), tiling.rows_of(m)) == (tiles, rows)


def test_a_block_has_its_stages_or_its_sums() -> None:
    """A stage has elements, weights, scales and zero points, and begins at a kibibyte."""
    packing = WeightPacking(4, 32, zeros=True)
    tiling = WarpgroupTiling(2, 2, 1, 128)
    assert tiling.shared_bytes(128, packing) == 4 * 128 * (256 + 4)
    stage = 128 * 128 + 256 * 32 + 256 * 2 * 3
    staged = tiling._replace(stages=8)
    assert staged.shared_bytes(128, packing) == 8 * -(-stage // 1024) * 1024


@pytest.mark.parametrize("clusters", [True, False])
def test_all_parts_have_room_at_once_and_fill_most_of_it(clusters: bool) -> None:
    tiling = WarpgroupTiling(1, 2, 2, 128)
    offered = list(tiling.in_parts(128, 4096, 4096, 132, clusters))
    counts = {each.cluster * each.splits for each in offered}
    assert counts == {3, 4}
    assert all(each.blocks(128, 4096) <= 132 for each in offered)
    assert any(each.cluster > 1 for each in offered) == clusters
    # More blocks than there is room for, and too few rounds for several parts.
    assert list(tiling.in_parts(128, 128256, 4096, 132, clusters)) == [tiling]
    assert list(tiling.in_parts(128, 512, 128, 132, clusters)) == [tiling]


@pytest.mark.parametrize("m", [9, 16, 32, 33, 64, 65, 128, 129, 512])
def test_each_number_of_rows_has_tilings_that_differ(m: int) -> None:
    of_rows = [each._replace(rows=each.rows_of(m)) for each in tilings_for(m)]
    assert len({*of_rows}) == len(of_rows) > 2
