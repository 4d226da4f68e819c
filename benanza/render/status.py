"""How far an installation is, for people."""

from rich.console import Console, RenderableType
from rich.text import Text

from benanza.render.systems import ID_SHOWN
from benanza.render.table import Column, html, printable, table
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
    Column("last measured (UTC)", "left", spare=1),
    Column("layer", "left", is_name=True, spare=2),
)
SERVICES = (
    Column("service", "left"),
    Column("group", "left"),
    Column("processes"),
    Column("waiting records"),
)
MEMBERS = ("runners", "processes")
"""Titles of the columns of members."""


def print_status(console: Console, status: Status) -> None:
    """Prints what is ingested and measured, what waits for each service, and dead letters."""
    for part in _parts(status, plain=not console.is_terminal):
        console.print(part)


def status_html(status: Status) -> str:
    """The same for a notebook."""
    return html(_parts(status, plain=False))


def _parts(status: Status, *, plain: bool) -> list[RenderableType]:
    parts: list[RenderableType] = [
        Text(printable(line)) for line in (_log(status), _models(status))
    ]
    # An embedded log doesn't know of members, so that their columns are left out.
    members = status.at_work is None
    for columns, rows in (
        (RUNNERS, list(map(_runner, status.runners))),
        (SERVICES, list(map(_service, status.services))),
    ):
        shown = [
            index for index, column in enumerate(columns) if members or column.title not in MEMBERS
        ]
        if rows:
            cells = [[row[index] for index in shown] for row in rows]
            titles = [columns[index] for index in shown]
            parts.append(table(titles, cells, plain=plain))
    return [*parts, *(Text(printable(line)) for line in _dead_letters(status))]


def _log(status: Status) -> str:
    at_work = {
        True: "; another benanza is at work there",
        False: "; nobody is at work there",
        None: "",
    }
    return f"the log is {status.log}{at_work[status.at_work]}"


def _models(status: Status) -> str:
    layers = f"{status.layers:,} unique layers and groups to measure"
    if not status.model:
        return f"{plural(status.ingested, 'model')} ingested, with {layers}"
    if not status.ingested:
        return f"{status.model} is not ingested"
    sizes = f" {plural(status.ingested, 'time')}" if status.ingested > 1 else ""
    return f"{status.model} is ingested{sizes}, with {layers}"


def _runner(runner: RunnerStatus) -> tuple[str, ...]:
    name = f"{runner.system} ({runner.system_id[:ID_SHOWN]}) with {runner.runtime}"
    measured_at = runner.last_measured_at
    return (
        name if runner.system else runner.system_id[:ID_SHOWN],
        runner.precision,
        f"{runner.members}",
        f"{runner.done:,}",
        f"{runner.failed:,}",
        f"{runner.waiting:,}",
        f"{measured_at:%Y-%m-%d %H:%M:%S}" if measured_at else "",
        runner.last_layer,
    )


def _service(service: ServiceStatus) -> tuple[str, ...]:
    return service.service, service.group, f"{service.members}", f"{service.waiting:,}"


def _dead_letters(status: Status) -> list[str]:
    if not status.dead_letters:
        return ["no dead letters are open"]
    return [
        f"{plural(group.letters, 'dead letter')} of {group.service} from {group.topic} "
        f"{'is' if group.letters == 1 else 'are'} open: "
        f"{pasteable('benanza', 'dead-letters', 'list', '--service', group.service)}"
        for group in status.dead_letters
    ]
