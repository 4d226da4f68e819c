"""How long the sequences are that ONNX Runtime's PagedAttention has in a row.

The graph doesn't say it: lengths and the table of blocks are inputs. So they are taken to be as
long as they can be: each has as many keys as its row of the table can name, or an equal share of
the cache's blocks, if these are fewer. New tokens are shared out as evenly as may be.
"""

from collections.abc import Sequence
from typing import NamedTuple


class PagedLengths(NamedTuple):
    """Where sequences begin and end among the new tokens, and how many keys each has after these.

    `ends` begins with 0. `keys` may be fewer than the new tokens of a sequence, which no cache
    holds then.
    """

    ends: tuple[int, ...]
    keys: int

    def queries(self) -> list[int]:
        """How many new tokens each sequence has."""
        return [end - begin for begin, end in zip(self.ends, self.ends[1:], strict=False)]


def paged_lengths(tokens: int, cache: Sequence[int], table: Sequence[int]) -> PagedLengths:
    """For so many new tokens, and the shapes of the cache, whose first axes are blocks and places,
    and of the table, which has a row of blocks for each sequence.
    """
    sequences, width = table
    blocks, places = cache[:2]
    ends = tuple(tokens * number // max(sequences, 1) for number in range(sequences + 1))
    return PagedLengths(ends, min(width, blocks // max(sequences, 1)) * places)
