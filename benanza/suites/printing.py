"""What the commands for suites print for people."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benanza.render.units import plural, time_unit
from benanza.suites.results import ConstructedLatencies, SuiteImported, SuiteWritten
from benanza_backbone.pasteable import pasteable


def print_written(written: SuiteWritten, file: Path) -> None:
    """A line, and one for each network that was left out."""
    dummies = f", and {written.dummies:,} others among them" if written.dummies else ""
    click.echo(f"{file}: {plural(written.networks, 'network')}{dummies}")
    for each in written.left_out:
        click.echo(f"left out: {each.title}: {each.reason}", err=True)
    click.echo(
        f"next: {pasteable('benanza', 'suite', 'run', str(file))} RESULTS, here or elsewhere"
    )


def print_imported(found: SuiteImported) -> None:
    """A line."""
    failed = f"; {found.failed:,} could not be timed" if found.failed else ""
    click.echo(f"{plural(found.timed, 'network')} timed on {found.cpu}{failed}")
    click.echo("next: benanza suite latency MODEL")


def print_latencies(console: Console, found: ConstructedLatencies) -> None:
    """A table with a row for each model and system, and why some layers have no time."""
    unit = time_unit(each.sequential_us for each in found.latencies)
    table = Table(box=None, header_style="bold")
    table.add_column("model", overflow="fold")
    table.add_column("system", overflow="fold")
    times = (f"in turn, {unit.name}", f"at once, {unit.name}")
    for heading in ("batch", "networks", "unique", *times):
        table.add_column(heading, justify="right")
    for each in found.latencies:
        lacks = sum(len(lacking.layers) for lacking in each.lacking)
        table.add_row(
            each.name,
            f"{each.cpu}, {plural(each.threads, 'thread')}",
            str(each.batch),
            f"{each.sequences:,}",
            f"{each.unique:,}",
            unit.format(each.sequential_us) + (" *" if lacks else ""),
            unit.format(each.critical_path_us) + (" *" if lacks else ""),
        )
    console.print(table)
    for each in found.latencies:
        for lacking in each.lacking:
            console.print(
                f"* {each.name}: {plural(len(lacking.layers), 'layer')} not counted: "
                f"{lacking.reason}",
                highlight=False,
                markup=False,
            )
