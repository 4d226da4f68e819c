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
    for left_out in written.left_out:
        click.echo(f"left out: {left_out.title}: {left_out.reason}", err=True)
    click.echo(
        f"next: {pasteable('benanza', 'suite', 'run', str(file))} RESULTS, here or elsewhere"
    )


def print_imported(imported: SuiteImported) -> None:
    """A line."""
    failed = f"; {imported.failed:,} could not be timed" if imported.failed else ""
    click.echo(f"{plural(imported.timed, 'network')} timed on {imported.cpu}{failed}")
    click.echo("next: benanza suite latency MODEL")


def print_latencies(console: Console, constructed: ConstructedLatencies) -> None:
    """A table with a row for each model and system, and why some layers have no time."""
    unit = time_unit(latency.sequential_us for latency in constructed.latencies)
    table = Table(box=None, header_style="bold")
    table.add_column("model", overflow="fold")
    table.add_column("system", overflow="fold")
    times = (f"in turn, {unit.name}", f"at once, {unit.name}")
    for heading in ("batch", "networks", "unique", *times):
        table.add_column(heading, justify="right")
    for latency in constructed.latencies:
        lacks = sum(len(lacking.layers) for lacking in latency.lacking)
        table.add_row(
            latency.name,
            f"{latency.cpu}, {plural(latency.threads, 'thread')}",
            str(latency.batch),
            f"{latency.sequences:,}",
            f"{latency.unique:,}",
            unit.format(latency.sequential_us) + (" *" if lacks else ""),
            unit.format(latency.critical_path_us) + (" *" if lacks else ""),
        )
    console.print(table)
    for latency in constructed.latencies:
        for lacking in latency.lacking:
            console.print(
                f"* {latency.name}: {plural(len(lacking.layers), 'layer')} not counted: "
                f"{lacking.reason}",
                highlight=False,
                markup=False,
            )
