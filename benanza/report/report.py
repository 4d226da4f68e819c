"""`benanza report`: what is known of models, as one HTML file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benanza.report.content import reported_bounds
from benanza.report.page import page
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_schemas.layer import Precision


def report(
    settings: Settings,
    models: Sequence[str],
    precisions: Sequence[Precision],
    dims: Mapping[str, int],
    price_per_hour: float | None,
    out: Path,
    system: str = "",
) -> int:
    """Writes a report of the bounds of these models, and returns how many bounds are in it.

    Raises `BenanzaError` for a model that has no bound, if none has one at these precisions, and
    if the file can't be written.
    """
    bounds = reported_bounds(settings, models, precisions, dims, system)
    if not bounds:
        raise BenanzaError(
            f"no such bound of {', '.join(models)} is known; benanza bounds shows those that are"
        )
    try:
        out.write_text(page(bounds, price_per_hour), encoding="utf-8")
    except OSError as error:
        raise BenanzaError(f"can't write {out} ({error.strerror}); name another file") from error
    return len(bounds)
