"""`benanza report`: what is known of models, as one HTML file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benanza.report.content import ReportedBound, reported_bounds
from benanza.report.difference import page_of_difference
from benanza.report.page import page
from benanza.running.progress import RunProgress
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_schemas.layer import Precision

MOST_NAMED = 4


def report(
    settings: Settings,
    models: Sequence[str],
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
    price_per_hour: float | None,
    out: Path,
    system: str = "",
    *,
    difference: bool = False,
    progress: RunProgress | None = None,
) -> int:
    """Writes a report of the bounds of these models, and returns how many bounds are in it.

    With `difference` it compares two bounds of one batch size. Raises `BenanzaError` for a model
    that has no bound, if none has one at these precisions, if there aren't two to compare, and,
    before all that, if the file can't be written.
    """
    _open(out)
    bounds = reported_bounds(settings, models, precisions, dims, system, progress)
    if not bounds:
        raise BenanzaError(
            f"no such bound of {', '.join(models)} is known; benanza bounds shows those that are"
        )
    text = compared(bounds) if difference else page(bounds, price_per_hour)
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(out, error) from error
    return len(bounds)


def _open(out: Path) -> None:
    """Raises `BenanzaError` if the file can't be written; what is in it stays."""
    new = not out.exists()
    try:
        out.open("a", encoding="utf-8").close()
        if new:
            out.unlink()
    except OSError as error:
        raise _unwritable(out, error) from error


def _unwritable(out: Path, error: OSError) -> BenanzaError:
    return BenanzaError(f"can't write {out} ({error.strerror}); name another file")


def compared(bounds: Sequence[ReportedBound]) -> str:
    """The page about two bounds; raises `BenanzaError` where there are fewer or more, or they are
    of two batch sizes.
    """
    match bounds:
        case [one, other] if one.bound.batch == other.bound.batch:
            return page_of_difference(one, other)
        case [one, other]:
            raise BenanzaError(
                f"--diff compares two bounds of one batch size, not {one.bound.batch} and "
                f"{other.bound.batch}: {one.title}; {other.title}"
            )
    named = [reported.title for reported in bounds[:MOST_NAMED]]
    more = len(bounds) - len(named)
    raise BenanzaError(
        f"--diff compares two bounds, not {len(bounds)}: {'; '.join(named)}"
        f"{f' and {more} more' if more else ''}; name two models of one batch "
        "size, by their ids if need be, and one --precision, or one model and two"
    )
