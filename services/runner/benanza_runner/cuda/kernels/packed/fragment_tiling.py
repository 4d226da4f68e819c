"""How a kernel shares a product with weights in fragments out to threads."""

from typing import NamedTuple

from benanza_runner.cuda.kernels.packed.fragments import ROWS_OF_A_UNIT, WEIGHTS_OF_A_UNIT

GROUP = 8
"""Rows that are multiplied at once."""

_THREADS_OF_A_WARP = 32
_BYTES_OF_AN_ELEMENT = 2
_PADDING_BYTES = 64


class FragmentTiling(NamedTuple):
    """What a block has: `tiles` of sixteen columns a warp, so many warps `across` the columns and
    `along` the sums, so many `units` of 64 weights that a warp has at a time, and so many `stages`
    of copies. So many blocks of a `cluster` share the sums out.
    """

    tiles: int
    across: int
    along: int
    units: int
    stages: int
    cluster: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _THREADS_OF_A_WARP * self.across * self.along

    @property
    def columns(self) -> int:
        """Columns of a block."""
        return ROWS_OF_A_UNIT * self.tiles * self.across

    @property
    def span(self) -> int:
        """How many elements of a row a block has at a time."""
        return WEIGHTS_OF_A_UNIT * self.units * self.along

    def rounds(self, k: int) -> int:
        """How often a block has them, for rows of k."""
        return -(-k // (self.span * self.cluster))

    def shared_bytes(self, m: int) -> int:
        """Shared memory of a block for m rows: its stages, or its warps' sums after them."""
        line = _BYTES_OF_AN_ELEMENT * self.span + _PADDING_BYTES
        sums = 4 * self.along * m * (self.columns + 4)
        return max(self.stages * -(-m // GROUP) * GROUP * line, sums)
