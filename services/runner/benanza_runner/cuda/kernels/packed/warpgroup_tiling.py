"""How a kernel shares a product with weights in fragments out to groups of four warps."""

from collections.abc import Iterator
from typing import NamedTuple

from benanza_runner.cuda.kernels.packed.fragments import WEIGHTS_OF_A_UNIT
from benanza_runner.cuda.kernels.source.packed_weights import WeightPacking
from benanza_runner.cuda.kernels.source.warpgroup_products import GROUP

PARTS = ((1, 1), (2, 1), (3, 1), (5, 1), (7, 1), (1, 2), (1, 3), (1, 4), (2, 2), (2, 3), (2, 4))
"""How many blocks of a cluster, and how many clusters, may share sums out. Clusters of four and of
eight are not tried: on an H200 fewer of them had room at once than multiprocessors would have."""

FULL = 0.75
"""Parts are tried that make at least so much of the most blocks that have room at once."""

_THREADS_OF_A_WARPGROUP = 128
_COLUMNS_OF_A_WARPGROUP = 64
_PIECE_BYTES = 16
_PADDING = 4
_ALIGNMENT = 1_024


class WarpgroupTiling(NamedTuple):
    """What a block has: `tiles` of 64 columns for each of so many `warpgroups`, so many `units` of
    64 weights of a column at a time, `stages` of copies, and at most so many `rows`. So many
    blocks are `resident` on a multiprocessor. So many of a `cluster`, and so many clusters
    (`splits`), share the sums out. `asynchronous` products are those of Hopper.
    """

    tiles: int
    warpgroups: int
    units: int
    rows: int
    resident: int = 1
    stages: int = 3
    cluster: int = 1
    splits: int = 1
    asynchronous: bool = True

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _THREADS_OF_A_WARPGROUP * self.warpgroups

    @property
    def columns(self) -> int:
        """Columns of a block."""
        return _COLUMNS_OF_A_WARPGROUP * self.tiles * self.warpgroups

    def row_tiles(self, m: int) -> int:
        """How many blocks share m rows out."""
        return -(-m // self.rows)

    def rows_of(self, m: int) -> int:
        """Rows of a block for m rows, in whole groups."""
        return -(-m // self.row_tiles(m) // GROUP) * GROUP

    def rounds(self, k: int) -> int:
        """How often a block has its units, for rows of k."""
        return -(-k // (WEIGHTS_OF_A_UNIT * self.units * self.cluster * self.splits))

    def blocks(self, m: int, n: int) -> int:
        """How many blocks there are, for m rows and n columns."""
        return self.row_tiles(m) * -(-n // self.columns) * self.cluster * self.splits

    def scratch_bytes(self, m: int, n: int) -> int:
        """Memory for what clusters found, where several share the sums of m rows and n columns."""
        sums = 4 * self.rows_of(m) * self.columns
        return self.blocks(m, n) // self.cluster * sums if self.splits > 1 else 0

    def shared_bytes(self, m: int, packing: WeightPacking) -> int:
        """Shared memory of a block for m rows: its stages, or its sums after them."""
        rows = self.rows_of(m)
        blocks = max(1, WEIGHTS_OF_A_UNIT // packing.block)
        scales = (3 if packing.zeros else 2) * blocks * self.columns
        weights = self.tiles * self.threads * _PIECE_BYTES * packing.bits // 4
        unit = 2 * WEIGHTS_OF_A_UNIT * rows + weights + scales
        stage = -(-self.units * unit // _ALIGNMENT) * _ALIGNMENT
        return max(self.stages * stage, 4 * rows * (self.columns + _PADDING))

    def in_parts(
        self, m: int, n: int, k: int, room: int, clusters: bool
    ) -> "Iterator[WarpgroupTiling]":
        """This for m rows of k and n columns, with parts such that so many blocks as have `room` at
        once are most of them; or with one part, where there are more blocks anyway. There may be
        no `clusters`.
        """
        each, most = self.blocks(m, n), self.rounds(k)
        counts = {
            parts: parts[0] * parts[1]
            for parts in PARTS
            if (clusters or parts[0] == 1) and parts[0] * parts[1] <= most
        }
        fitting = {
            parts: count for parts, count in counts.items() if count == 1 or each * count <= room
        }
        for (cluster, splits), count in fitting.items():
            if count >= FULL * max(fitting.values()):
                yield self._replace(cluster=cluster, splits=splits)


TILINGS_FOR_SOME = (
    WarpgroupTiling(1, 2, 2, 64, 2),
    WarpgroupTiling(2, 1, 1, 64, 3),
    WarpgroupTiling(1, 4, 2, 64),
    WarpgroupTiling(2, 2, 2, 64),
    WarpgroupTiling(2, 2, 1, 64, 2),
)
"""For `SOME_ROWS` at most."""

TILINGS_FOR_MANY = (
    WarpgroupTiling(1, 2, 2, 128),
    WarpgroupTiling(1, 3, 2, 128),
    WarpgroupTiling(1, 4, 2, 128),
    WarpgroupTiling(2, 1, 1, 128, 2),
    WarpgroupTiling(1, 2, 2, 256),
)
"""For more."""

SOME_ROWS = 64


def tilings_for(m: int) -> tuple[WarpgroupTiling, ...]:
    """The tilings to try for m rows. The one for 256 rows is left out up to 128 rows, where it
    equals the first.
    """
    if m <= SOME_ROWS:
        return TILINGS_FOR_SOME
    return tuple(base for base in TILINGS_FOR_MANY if base.rows < 2 * m)
