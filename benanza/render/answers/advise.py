"""What would make models faster in a framework, for people."""

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.answers.profile import title, where_timed
from benanza.render.table import Column, html, operators, printable, prose, shortened, table
from benanza.render.units import TimeUnit, time_unit
from benanza.results.advise import Advice, Advised, ModelAdvice
from benanza.results.profile import ModelProfile

NOTHING = "nothing that is known here would make it faster"

NO_CALLS = (
    "its calls were not timed, so where the bound is faster isn't known; what is captured or "
    "compiled runs as a whole, and the framework's other configurations may show it"
)

MOST_ROWS = 12

WAITS = (
    "the GPU waits between calls; what is saved within calls shows only once it no longer does: "
    'begin with the row "between calls"'
)

NONE_AT_PRECISION = "no framework ran it at this precision; benanza profile does"
NONE_ON_SYSTEM = "no framework ran it on a system whose id begins so; benanza profile does"


def print_advice(console: Console, advised: Advised) -> None:
    """Prints a table for each run of a framework, with a row for each remedy."""
    for part in _parts(advised, plain=not console.is_terminal):
        console.print(part)


def advice_html(advised: Advised) -> str:
    """Advice for a notebook."""
    return html(_parts(advised, plain=False))


def _parts(advised: Advised, *, plain: bool) -> list[RenderableType]:
    if not advised.models:
        return [Text(NONE_AT_PRECISION)]
    parts: list[RenderableType] = []
    for model in advised.models:
        unit = time_unit([model.profile.us, model.profile.bound_us])
        parts += [Text(printable(line)) for line in title(model.profile, unit)]
        if model.profile.calls_of:
            parts.append(Text(printable(where_timed(model.profile))))
        if model.profile.waits_for_host:
            parts.append(Text(WAITS))
        if model.advice:
            parts.append(_table(model, plain=plain))
            if len(model.advice) > MOST_ROWS:
                left = len(model.advice) - MOST_ROWS
                parts.append(Text(f"and {left} more that save less: --format json has them"))
        elif model.profile.us is not None and model.profile.bound_us is not None:
            parts.append(Text(printable(_why_nothing(model.profile))))
    return parts


def _why_nothing(profile: ModelProfile) -> str:
    """Why there is no advice about a run with a bound."""
    if profile.calls:
        return NOTHING
    return f"its calls were not timed: {profile.failure}" if profile.failure else NO_CALLS


def _table(model: ModelAdvice, *, plain: bool) -> Table:
    """The remedies, the greatest saving first. Times are those of one sample."""
    profile = model.profile
    of_run = (profile.us, profile.bound_us)
    unit = time_unit([us and us / profile.batch for us in of_run])
    each = f"{unit.name} a sample" if profile.batch > 1 else unit.name
    columns = (
        Column(f"saves {each}"),
        Column("of the run"),
        Column(f"seen {each}", spare=1),
        Column("where", "left"),
        Column("operators", "left", spare=3),
        Column("layers", "left", spare=2),
        prose("what to do"),
    )
    rows = [
        (
            _saved(advice, unit),
            f"{advice.share:.0%}",
            unit.format(advice.seen_us),
            advice.what,
            operators_of(advice),
            ", ".join(map(shortened, advice.layers)),
            advice.do or "-",
        )
        for advice in model.advice[:MOST_ROWS]
    ]
    return table(columns, rows, plain=plain)


def operators_of(advice: Advice) -> str:
    """The framework's operators that a remedy is about, and in how many parts of the run. A kernel
    that no operator starts has its signature as its name.
    """
    named = shortened(operators(advice.op))
    return f"{advice.times} × {named}" if named and advice.times > 1 else named


def _saved(advice: Advice, unit: TimeUnit) -> str:
    saved = unit.format(advice.saved_us)
    return saved if advice.spread_us is None else f"{saved} ± {unit.format(advice.spread_us)}"
