"""What generating text takes, for people."""

from collections.abc import Mapping, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.answers.explain import NONE_SUCH
from benanza.render.bounds import model_at
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, printable, table
from benanza.render.units import TimeUnit, named_sizes, time_unit
from benanza.tokens.generation import Generation, GenerationPoint, GenerationUnderLoad
from benanza.tokens.load import LoadedTokens, TokenLoad, TokenPercentiles
from benanza_backbone.clickhouse.bounds import ModelBound


def print_generation(console: Console, generation: Generation) -> None:
    """Prints a table for each system and precision: a row for each point and source of times."""
    for part in _parts(generation, plain=not console.is_terminal):
        console.print(part)


def generation_html(generation: Generation) -> str:
    """What generating takes, for a notebook."""
    return html(_parts(generation, plain=False))


def _parts(generation: Generation, *, plain: bool) -> list[RenderableType]:
    systems = SystemNames(point.step for point in generation.points)
    tables: dict[tuple[str, str], list[GenerationPoint]] = {}
    for point in generation.points:
        tables.setdefault((point.step.system_id, point.step.precision), []).append(point)
    parts: list[RenderableType] = []
    for points in tables.values():
        step = points[0].step
        # What all points share stands once.
        shared = dict(set.intersection(*[set(point.step.dims.items()) for point in points]))
        dims = named_sizes({name: size for name, size in step.dims.items() if name in shared})
        what = ", ".join(filter(None, (step.model, step.precision, dims)))
        parts.append(Text(printable(f"{what}, {systems.measured_on(step)}")))
        prompts = {_prompt_at(point.prompt): None for point in points if point.prompt}
        if prompts:
            parts.append(Text(printable(f"first token: {' or '.join(prompts)}")))
        with_cost = generation.price_per_hour is not None
        parts.append(_table(points, shared, with_cost=with_cost, plain=plain))
    if generation.load is not None:
        parts += _under_load(generation, generation.load, systems, plain=plain)
    partial = len(generation.partial)
    if partial:
        lack = "1 bound lacks" if partial == 1 else f"{partial:,} bounds lack"
        first = model_at(generation.partial[0])
        line = f"left out, as {lack} layers: {first}; benanza bounds says which"
        parts.append(Text(printable(line)))
    return parts or [Text(NONE_SUCH)]


def _prompt_at(prompt: ModelBound) -> str:
    """The prompt that gives the first token, with its length."""
    return ", ".join(filter(None, (prompt.model, named_sizes(prompt.dims))))


def _table(
    points: Sequence[GenerationPoint], shared: Mapping[str, int], *, with_cost: bool, plain: bool
) -> Table:
    times = [times for point in points for times in point.times]
    first_unit = time_unit(each.time_to_first_token_us for each in times)
    unit = time_unit(each.time_per_token_us for each in times)
    with_prompt = any(each.time_to_first_token_us is not None for each in times)
    with_joules = any(each.joules_per_token is not None for each in times)
    with_dims = any(point.step.dims.keys() > shared.keys() for point in points)
    columns = (
        Column("sequences"),
        *([Column("dims", "left")] if with_dims else []),
        Column("by", "left"),
        *([Column(f"first token {first_unit.name}")] if with_prompt else []),
        Column(f"each token {unit.name}"),
        Column("tokens/s"),
        *([Column("cost of a million")] if with_cost else []),
        *([Column("J a token", spare=3)] if with_joules else []),
        Column("most of the step", "left", spare=2),
        Column("most limited by", "left", spare=1),
    )
    rows = []
    for point in points:
        most = f"{point.kinds[0].kind} {point.kinds[0].share:.0%}"
        limit = "".join(f"{by.limit} {by.share:.0%}" for by in point.limits[:1]) or "-"
        own = {name: n for name, n in point.step.dims.items() if name not in shared}
        head = (f"{point.step.batch:,}", *([named_sizes(own)] if with_dims else []))
        for each in point.times:
            rows.append(
                (
                    *head,
                    each.source,
                    *([first_unit.format(each.time_to_first_token_us)] if with_prompt else []),
                    unit.format(each.time_per_token_us),
                    "-" if each.tokens_per_s is None else f"{each.tokens_per_s:,.0f}",
                    *([_number(each.cost_per_million)] if with_cost else []),
                    *([_number(each.joules_per_token)] if with_joules else []),
                    *((most, limit) if each.source == "bound" else ("", "")),
                )
            )
            head = ("",) * len(head)
    return table(columns, rows, plain=plain)


def _under_load(
    generation: Generation, load: TokenLoad, systems: SystemNames, *, plain: bool
) -> list[RenderableType]:
    """What comes of a load: a table for each system and precision."""
    prompts, outputs = map(_range, (load.prompt_tokens, load.output_tokens))
    cache = f", a cache of {load.cache_tokens:,} tokens" if load.cache_tokens else ""
    asked = f"{load.rate_per_s:,.4g} requests/s of {prompts} tokens for {outputs}{cache}"
    times = "times to the first token and for each later one"
    parts: list[RenderableType] = []
    alike: dict[tuple[str, str], list[GenerationUnderLoad]] = {}
    for each in generation.under_load:
        alike.setdefault((each.step.system_id, each.step.precision), []).append(each)
    for group in alike.values():
        step = group[0].step
        what = f"{step.model}, {step.precision}, {systems.measured_on(step)}: {asked}; {times}"
        parts.append(Text(printable(what)))
        loads = [(each, each.found) for each in group if each.found is not None]
        if loads:
            parts.append(_load_table(loads, plain=plain))
        parts += [Text(f"{each.source}: {each.failure}") for each in group if each.failure]
    return parts


def _load_table(loads: Sequence[tuple[GenerationUnderLoad, LoadedTokens]], *, plain: bool) -> Table:
    first_unit = time_unit(found.time_to_first_token.p50_us for _, found in loads)
    unit = time_unit(found.time_per_token.p50_us for _, found in loads if found.time_per_token)
    columns = (
        Column("by", "left"),
        Column("at most", spare=2),
        Column("running", spare=1),
        Column("busy", spare=1),
        Column("requests/s"),
        Column("tokens/s"),
        *_columns(f"first {first_unit.name}"),
        *_columns(f"each {unit.name}"),
    )
    rows = [
        (
            load.source,
            f"{load.sequences:,}",
            f"{found.sequences:,.1f}",
            f"{found.busy:.0%}",
            f"{found.answered_per_s:,.4g}",
            f"{found.tokens_per_s:,.0f}",
            *_three(found.time_to_first_token, first_unit),
            *_three(found.time_per_token, unit),
        )
        for load, found in loads
    ]
    return table(columns, rows, plain=plain)


def _columns(title: str) -> tuple[Column, ...]:
    """The three percentiles."""
    return Column(f"{title} p50"), Column("p90", spare=1), Column("p99")


def _three(times: TokenPercentiles | None, unit: TimeUnit) -> tuple[str, str, str]:
    if times is None:
        return ("-",) * 3
    return unit.format(times.p50_us), unit.format(times.p90_us), unit.format(times.p99_us)


def _range(tokens: tuple[int, int]) -> str:
    least, most = tokens
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3f}"
