"""How the states of linear attention are shared out to threads."""

from typing import NamedTuple

from benanza_runner.cuda.calls import LinearAttention

LANES = (32, 16, 8, 4, 2, 1)
COLUMNS = (8, 4, 2, 1)

LEAST, MOST = 16, 64
"""Elements of a state that a thread holds: with more, registers are short; with fewer, a thread
adds up more partial sums than it has elements."""

THREADS = 128

WARP = 32

STAGED_BYTES = 32_768
"""Of shared memory, for what several tokens read."""

MOST_STAGED = 16
"""Tokens that are staged at once, at most."""


class StateTile(NamedTuple):
    """So many threads, `lanes`, share a column, and have so many `columns`. A block has so many
    `groups` of columns of one state, and keeps in shared memory what so many `tokens` read.
    """

    lanes: int
    columns: int
    groups: int
    tokens: int

    @property
    def threads(self) -> int:
        """The threads of a block: whole warps."""
        return -(-self.lanes * self.groups // WARP) * WARP

    def blocks(self, call: LinearAttention) -> int:
        """The blocks that have all columns of all states."""
        return call.batch * call.heads * -(-call.width // (self.groups * self.columns))


def tiles(call: LinearAttention, widest: int) -> list[StateTile]:
    """Ways of sharing out a state; none if its rows are so many that a thread can't hold its part.

    A thread has at most as many columns as it reads at once, the `widest`.
    """
    every = [
        (lanes, columns)
        for lanes in LANES
        for columns in COLUMNS
        if not call.size % lanes and not call.width % columns and columns <= widest
    ]
    held = {each: call.size // each[0] * each[1] for each in every}
    fitting = [each for each in every if held[each] <= MOST]
    good = [each for each in fitting if held[each] >= LEAST and each[1] > 1]
    return [_tile(call, *each) for each in good or fitting[-1:]]


def repeats(call: LinearAttention) -> int:
    """How many heads of queries read each state."""
    return max(1, call.query_heads // call.heads)


def _tile(call: LinearAttention, lanes: int, columns: int) -> StateTile:
    groups = min(call.width // columns, THREADS // lanes)
    of_rows = call.size * (1 + repeats(call) + (call.gate == "key"))
    staged = 4 * (of_rows + groups * columns + 2)
    tokens = max(1, min(call.length, MOST_STAGED, STAGED_BYTES // staged))
    return StateTile(lanes, columns, groups, tokens)
