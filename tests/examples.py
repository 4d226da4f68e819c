"""How many examples Hypothesis tries, whichever profile is loaded."""

from hypothesis import settings


def examples(times: float) -> settings:
    """So many times as usual: usual are 100, 40 under `--hypothesis-profile sample`, and 20 under
    `quick`.
    """
    return settings(max_examples=round(times * settings().max_examples))
