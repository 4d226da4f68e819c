"""How far an installation is, for people."""

from rich.console import Console, RenderableType
from rich.text import Text

from benanza.render.systems import ID_SHOWN
from benanza.render.table import Column, html, names, printable, table
from benanza.render.units import plural
from benanza.results.operating import RunnerStatus, ServiceStatus, Status
from benanza_backbone.pasteable import pasteable

RUNNERS = (
    Column("measured on", "left"),
    Column("precision", "left"),
    Column("runners"),
    Column("done"),
    Column("failed"),
    Column("waiting"),
    Column("last measured (UTC)", "left"),
    names("layer"),
)
SERVICES = (
    Column("service", "left"),
    Column("group", "left"),
    Column("processes"),
    Column("waiting records"),
)
MEMBERS = ("runners", "processes")
"""Titles of the columns of members."""


def print_status(console: Console, found: Status) -> None:
    """Prints what is ingested and measured, what waits for each service, and dead letters."""
    for part in _parts(found, plain=not console.is_terminal):
        console.print(part)


def status_html(found: Status) -> str:
    """The same for a notebook."""
    return html(_parts(found, plain=False))


def _parts(found: Status, *, plain: bool) -> list[RenderableType]:
    parts: list[RenderableType] = [Text(printable(each)) for each in (_log(found), _models(found))]
    # An embedded log doesn't know of members, so that their columns are left out.
    members = found.at_work is None
    for columns, rows in (
        (RUNNERS, list(map(_runner, found.runners))),
        (SERVICES, list(map(_service, found.services))),
    ):
        shown = [at for at, column in enumerate(columns) if members or column.title not in MEMBERS]
        if rows:
            cells = [[row[at] for at in shown] for row in rows]
            titles = [columns[at] for at in shown]
            parts.append(table(titles, cells, plain=plain))
    return [*parts, *(Text(printable(line)) for line in _dead_letters(found))]


def _log(found: Status) -> str:
    at_work = {
        True: "; another benanza is at work there",
        False: "; nobody is at work there",
        None: "",
    }
    return f"the log is {found.log}{at_work[found.at_work]}"


def _models(found: Status) -> str:
    layers = f"{found.layers:,} unique layers and groups to measure"
    if not found.model:
        return f"{plural(found.ingested, 'model')} ingested, with {layers}"
    if not found.ingested:
        return f"{found.model} is not ingested"
    sizes = f" {plural(found.ingested, 'time')}" if found.ingested > 1 else ""
    return f"{found.model} is ingested{sizes}, with {layers}"


def _runner(found: RunnerStatus) -> tuple[str, ...]:
    name = f"{found.system} ({found.system_id[:ID_SHOWN]}) with {found.runtime}"
    at = found.last_measured_at
    return (
        name if found.system else found.system_id[:ID_SHOWN],
        found.precision,
        f"{found.members}",
        f"{found.done:,}",
        f"{found.failed:,}",
        f"{found.waiting:,}",
        f"{at:%Y-%m-%d %H:%M:%S}" if at else "",
        found.last_layer,
    )


def _service(found: ServiceStatus) -> tuple[str, ...]:
    return found.service, found.group, f"{found.members}", f"{found.waiting:,}"


def _dead_letters(found: Status) -> list[str]:
    if not found.dead_letters:
        return ["no dead letters are open"]
    return [
        f"{plural(each.letters, 'dead letter')} of {each.service} from {each.topic} "
        f"{'is' if each.letters == 1 else 'are'} open: "
        f"{pasteable('benanza', 'dead-letters', 'list', '--service', each.service)}"
        for each in found.dead_letters
    ]
