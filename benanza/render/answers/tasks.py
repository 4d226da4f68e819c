"""Tasks and their solutions, for people."""

from rich.console import Console
from rich.text import Text

from benanza.render.table import Column, names, operators, printable, table
from benanza.render.units import plural, time_unit
from benanza.tasks.results import SolvedTask, WrittenTasks


def print_tasks(console: Console, written: WrittenTasks) -> None:
    """Prints a table of the tasks, what they lack, and what could not be written."""
    head = f"{plural(len(written.tasks), 'task')} of {written.model} at {written.precision} on "
    console.print(Text(printable(f"{head}{written.system}")))
    unit = time_unit(task.known_us for task in written.tasks)
    columns = (
        names("folder"),
        names("operators"),
        Column("first layer", "left", is_name=True, spare=3),
        Column("calls", spare=1),
        Column(f"known {unit.name}"),
        Column(f"speed of light {unit.name}"),
        Column("held by", "left", spare=2),
        Column(f"gap of all {unit.name}"),
    )
    rows = [
        (
            task.folder,
            operators(task.op),
            task.layer,
            f"{task.calls:,}",
            unit.format(task.known_us),
            unit.format(task.light_us),
            task.limited_by or "",
            unit.format(task.gap_us),
        )
        for task in written.tasks
    ]
    if rows:
        console.print(table(columns, rows, plain=not console.is_terminal))
    for task in written.tasks:
        for lack in task.lacks:
            console.print(Text(printable(f"{task.folder} lacks {lack}")))
    for without in written.unwritten:
        which = f"{without.op} {without.layer}"
        console.print(Text(printable(f"no task for {which}: {without.reason}")))


def print_solved(console: Console, solved: SolvedTask) -> None:
    """Prints a solution in a few lines."""
    unit = time_unit((solved.us, solved.known_us))
    took = f"{unit.format(solved.us)} ± {unit.format(solved.iqr_us)} {unit.name}"
    known = f"{unit.format(solved.known_us)} {unit.name} by {solved.known_by}"
    ratio = solved.known_us / solved.us if solved.us else 0.0
    faster = "faster than" if solved.us < solved.known_us else "not faster than"
    console.print(
        Text(
            printable(
                f"{solved.task}: {solved.algorithm} is right and took {took} over "
                f"{plural(solved.calls, 'call')}, {faster} {known} ({ratio:.2f} times as fast)"
            )
        )
    )
    if not solved.stable:
        console.print(Text("this machine was busy with something else meanwhile"))
    for lack in solved.unconfined:
        console.print(Text(f"this system couldn't take this from the kernel: {lack}"))
