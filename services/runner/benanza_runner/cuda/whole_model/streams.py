"""Which stream each step of a program runs on, when several steps may run at once."""

from collections.abc import Sequence

STREAMS = 4
"""More would seldom have anything to do: nearly all models branch four ways at most."""


def assign(reads: Sequence[Sequence[int]], streams: int = STREAMS) -> list[int]:
    """A stream for each step, counted from 0.

    `reads` holds for each step the earlier ones that it reads from. A step runs on the stream on
    which the latest of these was the last to run, so that it need not wait for another stream. If
    there is none, it runs on the stream that has been idle longest.
    """
    last = [-1] * streams
    assignment: list[int] = []
    for step, before in enumerate(reads):
        free = [stream for stream in range(streams) if last[stream] in before]
        stream = max(free, key=last.__getitem__, default=min(range(streams), key=last.__getitem__))
        last[stream] = step
        assignment.append(stream)
    return assignment
