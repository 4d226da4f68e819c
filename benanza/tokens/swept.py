"""Times of steps and prompts between the sizes that were swept."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

_Curve = tuple[Sequence[int], Sequence[float]]
"""Sizes, ascending, and their times."""


class UnsweptError(Exception):
    """A size is beyond all that were swept; the message says which, and what to sweep."""


class SweptTimes:
    """Times that are interpolated linearly: of steps over sequences and the mean length of what
    they have in the cache, of prompts over their length. What is smaller than all that was swept
    takes as long as the smallest, so it is not underestimated.

    `steps` has microseconds by the number of sequences and by the length of the past, `prompts` by
    the length of one prompt; without any, prompts are read elsewhere.
    """

    def __init__(
        self, steps: Mapping[int, Mapping[int, float]], prompts: Mapping[int, float]
    ) -> None:
        self._sequences = sorted(steps)
        self._steps = {count: _curve(steps[count]) for count in self._sequences}
        self._prompts = _curve(prompts) if prompts else None

    def check(self, sequences: int, prompt: int, past: int) -> None:
        """Raises `UnsweptError` unless steps of so many sequences behind so many tokens, and
        prompts of this length, are within what was swept.
        """
        if sequences > self._sequences[-1]:
            raise UnsweptError(
                f"steps of up to {self._sequences[-1]:,} sequences have times, not of "
                f"{sequences:,}: sweep more sequences, or let fewer run at once (--sequences)"
            )
        needed = bisect_left(self._sequences, sequences) + 1
        for count in self._sequences[:needed]:
            longest = int(self._steps[count][0][-1])
            if past > longest:
                raise UnsweptError(
                    f"a step at batch size {count:,} has times behind up to {longest:,} tokens, "
                    f"and prompts with their outputs need up to {past:,}: sweep a longer past, or "
                    "ask for shorter ones (--prompt-length, --output-length)"
                )
        if self._prompts is not None and prompt > self._prompts[0][-1]:
            raise UnsweptError(
                f"prompts of up to {int(self._prompts[0][-1]):,} tokens have times at batch size "
                f"1, not of {prompt:,}: sweep longer ones, or ask for shorter ones "
                "(--prompt-length)"
            )

    def prompt_us(self, tokens: int) -> float | None:
        """As `TokenTimes` has it."""
        if self._prompts is None:
            return None
        return _between(tokens, self._prompts)

    def step_us(self, pasts: Sequence[int]) -> float:
        """As `TokenTimes` has it: attention takes as long as all pasts together."""
        mean = sum(pasts) / len(pasts)
        above = bisect_left(self._sequences, len(pasts))
        around = self._sequences[max(0, above - 1) : above + 1]
        times = [_between(mean, self._steps[count]) for count in around]
        return _between(len(pasts), (around, times))


def _between(at: float, curve: _Curve) -> float:
    """The time there. NumPy's function takes longer, and there may be millions of steps."""
    sizes, times = curve
    above = bisect_left(sizes, at)
    if above in (0, len(sizes)):
        return times[min(above, len(sizes) - 1)]
    share = (at - sizes[above - 1]) / (sizes[above] - sizes[above - 1])
    return times[above - 1] + share * (times[above] - times[above - 1])


def _curve(times: Mapping[int, float]) -> _Curve:
    sizes = sorted(times)
    return sizes, [times[size] for size in sizes]
