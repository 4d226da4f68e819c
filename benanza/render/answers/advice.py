"""What would make models faster in a framework, for people."""

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.answers.profiles import title
from benanza.render.table import Column, html, printable, table
from benanza.render.units import TimeUnit, time_unit
from benanza.results.advice import Advice, Advised, ModelAdvice

NOTHING = "nothing that is known here would make it faster"

NONE_AT_PRECISION = "no framework ran it at this precision; benanza profile does"


def print_advice(console: Console, found: Advised) -> None:
    """Prints a table for each run of a framework, with a row for each remedy."""
    for part in _parts(found, plain=not console.is_terminal):
        console.print(part)


def advice_html(found: Advised) -> str:
    """Advice for a notebook."""
    return html(_parts(found, plain=False))


def _parts(found: Advised, *, plain: bool) -> list[RenderableType]:
    if not found.models:
        return [Text(NONE_AT_PRECISION)]
    parts: list[RenderableType] = []
    for each in found.models:
        unit = time_unit([each.profile.us, each.profile.bound_us])
        parts += [Text(printable(line)) for line in title(each.profile, unit)]
        if each.advice:
            parts.append(_table(each, unit, plain=plain))
        elif each.profile.bound_us is not None:
            parts.append(Text(NOTHING))
    return parts


def _table(found: ModelAdvice, unit: TimeUnit, *, plain: bool) -> Table:
    """The remedies, the greatest saving first. Times are those of one sample."""
    columns = (
        Column(f"saves {unit.name}"),
        Column("of the run"),
        Column(f"seen {unit.name}"),
        Column("where", "left"),
        Column("layers", "left"),
        Column("what to do", "left"),
    )
    rows = [
        (
            _saved(each, unit),
            f"{each.share:.0%}",
            unit.format(each.seen_us),
            each.what,
            ", ".join(each.layers),
            each.do or "-",
        )
        for each in found.advice
    ]
    return table(columns, rows, plain=plain)


def _saved(advice: Advice, unit: TimeUnit) -> str:
    saved = unit.format(advice.saved_us)
    return saved if advice.spread_us is None else f"{saved} ± {unit.format(advice.spread_us)}"
