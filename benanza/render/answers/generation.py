"""What generating text takes, for people."""

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.answers.explain import NONE_SUCH
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, printable, table
from benanza.render.units import named_sizes, time_unit
from benanza.tokens.generation import Generation, GenerationPoint


def print_generation(console: Console, generation: Generation) -> None:
    """Prints a table for each system and precision: a row for each point and source of times."""
    for part in _parts(generation, plain=not console.is_terminal):
        console.print(part)


def generation_html(generation: Generation) -> str:
    """What generating takes, for a notebook."""
    return html(_parts(generation, plain=False))


def _parts(generation: Generation, *, plain: bool) -> list[RenderableType]:
    if not generation.points:
        return [Text(NONE_SUCH)]
    systems = SystemNames(point.step for point in generation.points)
    tables: dict[str, list[GenerationPoint]] = {}
    for point in generation.points:
        step = point.step
        title = f"{step.model}, {step.precision}, {systems.measured_on(step)}"
        tables.setdefault(title, []).append(point)
    parts: list[RenderableType] = []
    for title, points in tables.items():
        parts.append(Text(printable(title)))
        parts.append(_table(points, with_cost=generation.price_per_hour is not None, plain=plain))
    return parts


def _table(points: list[GenerationPoint], *, with_cost: bool, plain: bool) -> Table:
    times = [times for point in points for times in point.times]
    first_unit = time_unit(each.time_to_first_token_us for each in times)
    unit = time_unit(each.time_per_token_us for each in times)
    with_prompt = any(each.time_to_first_token_us is not None for each in times)
    columns = (
        Column("sequences"),
        Column("dims", "left"),
        Column("by", "left"),
        *([Column(f"first token {first_unit.name}")] if with_prompt else []),
        Column(f"each token {unit.name}"),
        Column("tokens/s"),
        *([Column("cost of a million")] if with_cost else []),
        Column("most of the step", "left"),
    )
    rows = []
    for point in points:
        for number, each in enumerate(point.times):
            most = point.kinds[0]
            rows.append(
                (
                    f"{point.step.batch:,}" if not number else "",
                    named_sizes(point.step.dims) if not number else "",
                    each.source,
                    *([first_unit.format(each.time_to_first_token_us)] if with_prompt else []),
                    unit.format(each.time_per_token_us),
                    "-" if each.tokens_per_s is None else f"{each.tokens_per_s:,.0f}",
                    *([_cost(each.cost_per_million)] if with_cost else []),
                    f"{most.kind} {most.share:.0%}" if not number else "",
                )
            )
    return table(columns, rows, plain=plain)


def _cost(cost: float | None) -> str:
    return "-" if cost is None else f"{cost:,.3f}"
