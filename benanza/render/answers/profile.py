"""How long frameworks take for models, for people."""

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.table import Column, html, listed, operators, printable, shortened, table
from benanza.render.units import TimeUnit, plural, time_unit
from benanza.results.profile import ModelProfile, ProfiledPart, Profiles

TOP = 10
"""So many parts are shown unless another number is asked for."""

NO_BOUND = "no full bound of it is known on this device; say: benanza run"

LAYERS_SHOWN = 2


def print_profiles(console: Console, profiles: Profiles, top: int = TOP) -> None:
    """Prints for each profile where the bound saves time: by kind, and the `top` parts; of a run
    that contradicts the bound, the parts in which the bound exceeds it most.
    """
    for part in _rendered(profiles, top, plain=not console.is_terminal):
        console.print(part)


def profiles_html(profiles: Profiles) -> str:
    """Profiles for a notebook."""
    return html(_rendered(profiles, TOP, plain=False))


def _rendered(profiles: Profiles, top: int, *, plain: bool) -> list[RenderableType]:
    rendered: list[RenderableType] = []
    for profile in profiles.profiles:
        unit = time_unit([profile.us, profile.bound_us])
        rendered += [
            Text(printable(line)) for line in (*title(profile, unit), *_looked_at(profile, unit))
        ]
        if profile.parts:
            rendered.append(_kinds(profile.parts, unit, plain=plain))
            rendered.append(_greatest(_first(profile, top), unit, plain=plain))
    return rendered


def _first(profile: ModelProfile, top: int) -> Sequence[ProfiledPart]:
    """The parts in which the bound saves most; where it is none, those in which it exceeds the run
    most.
    """
    if not profile.contradiction:
        return profile.parts[:top]
    return sorted(profile.parts, key=lambda part: part.us - part.bound_us)[:top]


def title(profile: ModelProfile, unit: TimeUnit) -> list[str]:
    """Which run it is, and how far it is from the bound, or why that isn't known."""
    framework = f"{profile.framework} {profile.version}, {profile.configuration}"
    about = f"{profile.model}, batch {profile.batch}, {profile.precision}, on {profile.device}"
    if profile.us is None:
        return [f"{about}: {framework}: {profile.failure}"]
    took = f"{unit.format(profile.us)} {unit.name} in {framework}"
    if profile.slowed_by:
        took += f" (slowed down by {profile.slowed_by})"
    if profile.contradiction:
        return [f"{about}: {took}", profile.contradiction]
    if profile.bound_us is None and profile.partial_bound_us is not None:
        partial = (
            f"the bound is {unit.format(profile.partial_bound_us)} {unit.name} without "
            f"{plural(profile.missing_layers, 'missing layer')}"
        )
        return [f"{about}: {took}; {partial}"]
    if profile.bound_us is None:
        return [f"{about}: {took}", NO_BOUND]
    share = f"{profile.bound_us / profile.us:.0%}"
    return [f"{about}: {took}; the bound is {unit.format(profile.bound_us)} {unit.name}, {share}"]


def where_timed(profile: ModelProfile) -> str:
    """In which other run the calls were timed."""
    return f"its calls are those of the run with {profile.calls_of}, where they were timed"


def _looked_at(profile: ModelProfile, unit: TimeUnit) -> list[str]:
    """What it costs to time each call, or why they weren't timed."""
    if profile.us is None:
        return []
    if profile.failure:
        return [f"its calls were not timed: {profile.failure}"]
    if profile.calls_of:
        return [where_timed(profile)]
    if profile.bound_us is None or profile.looked_at_us is None:
        return []
    return [
        f"with {plural(len(profile.calls), 'call')} timed: {unit.format(profile.looked_at_us)} "
        f"{unit.name}, {profile.looked_at_us / profile.us - 1:+.0%}"
    ]


def _kinds(parts: Sequence[ProfiledPart], unit: TimeUnit, *, plain: bool) -> Table:
    """What the bound saves, by kind."""
    kinds: dict[str, list[ProfiledPart]] = {}
    for part in parts:
        kinds.setdefault(part.kind, []).append(part)
    columns = (
        Column("what", "left"),
        Column("parts"),
        Column(f"takes {unit.name}"),
        Column(f"bound {unit.name}"),
        Column(f"saved {unit.name}"),
    )
    rows = []
    for kind, of_kind in kinds.items():
        us, bound_us = (
            sum(getattr(member, name) for member in of_kind) for name in ("us", "bound_us")
        )
        times = (unit.format(figure) for figure in (us, bound_us, us - bound_us))
        rows.append((kind, f"{len(of_kind):,}", *times))
    return table(columns, rows, plain=plain)


def _greatest(parts: Sequence[ProfiledPart], unit: TimeUnit, *, plain: bool) -> Table:
    """What the bound saves in these parts."""
    columns = (
        Column(f"saved {unit.name}"),
        Column(f"takes {unit.name}"),
        Column("what", "left"),
        Column("the framework's calls", "left", spare=1),
        Column("calls in the bound", spare=2),
        Column("layers", "left", spare=3),
    )
    rows = [
        (
            unit.format(part.us - part.bound_us),
            unit.format(part.us),
            part.kind,
            operators(part.op) if part.op else "-",
            f"{part.bound_calls:,}" if part.positions else "-",
            listed(list(map(shortened, part.layers)), LAYERS_SHOWN),
        )
        for part in parts
    ]
    return table(columns, rows, plain=plain)
