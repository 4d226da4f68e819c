"""Attainable estimates beside measured ones, over the zoo: a part of `study.ladder`'s page."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from study.ladder_of_models import Rung

ESTIMATES = """
## Attainable estimates from warm times

Where a call was not timed interleaved and with cold weights, both times are estimated from its warm
one. *Measured* counts models whose calls were all timed so, *estimated* the others. Of the former,
the estimate from warm times alone is compared with the one from all times: the *error* is the
median of how far they are apart, as a share, and *within the bar* says for how many models that is
no more than the error that Benanza gives. What is added for each kind of call, and the error, were
chosen on these same models, so this says little of other GPUs.
"""


ByCase = Mapping[str, Sequence[Rung]]
"""Models by the title of what they were measured on."""


def estimates_known(found: ByCase) -> Iterator[str]:
    """Of how many models there is an estimate."""
    known = ((title, *_known(of)) for title, of in found.items())
    if said := ", ".join(f"{some} of {total} ({title})" for title, some, total in known):
        yield f"- Models with an attainable estimate: {said}."


def estimates_off(everything: Sequence[Rung]) -> str:
    """How far estimates from warm times alone are off."""
    compared = [rung for rung in everything if _is_measured(rung)]
    good = [rung for rung in compared if _error(rung) <= _bar(rung)]
    return (
        f"- From warm times alone it is off by {_share(median(map(_error, compared)))} in the "
        f"median of {len(compared)}; by no more than its error says in {len(good)}."
    )


def estimates(found: ByCase) -> Iterator[str]:
    """A row for each of what they were measured on."""
    yield "| on | models | measured | estimated | neither | error | within the bar |"
    yield "|---|---|---|---|---|---|---|"
    for title, of in found.items():
        compared = [rung for rung in of if _is_measured(rung)]
        known, total = _known(of)
        errors = [_error(rung) for rung in compared]
        good = sum(_error(rung) <= _bar(rung) for rung in compared)
        yield (
            f"| {title} | {total} | {len(compared)} | {known - len(compared)} | "
            f"{total - known} | {_share(median(errors)) if errors else ''} | "
            f"{f'{good} of {len(compared)}' if compared else ''} |"
        )


def _known(of: Sequence[Rung]) -> tuple[int, int]:
    return sum(rung.bound.attainable_us is not None for rung in of), len(of)


def _is_measured(rung: Rung) -> bool:
    bound = rung.bound
    return bound.attainable_us is not None and not bound.attainable_error_us


def _error(rung: Rung) -> float:
    """How far the estimate from warm times is from the one from all times, as a share."""
    return abs((rung.guessed.attainable_us or 0.0) / (rung.bound.attainable_us or 1.0) - 1)


def _bar(rung: Rung) -> float:
    return rung.guessed.attainable_error_us / (rung.bound.attainable_us or 1.0)


def _share(value: float) -> str:
    return f"{value:.1%}"
