"""Settings and what became of trying them, for people."""

from rich.console import Console
from rich.text import Text

from benanza.render.table import Column, printable, prose, table
from benanza.results.check_config import ConfigReport

SETTINGS = (
    Column("setting", "left"),
    prose("value"),
    Column("from", "left", spare=1),
    prose("what it is"),
)
CHECKS = (Column("", "left"), Column("checked", "left"), prose("answer"))


def print_config(console: Console, report: ConfigReport) -> None:
    """Prints the settings, the variables that name no setting, and the checks."""
    plain = not console.is_terminal
    settings = [(s.name, s.value, s.source, s.description) for s in report.settings]
    checks = [("ok" if c.ok else "FAILED", c.name, c.detail) for c in report.checks]
    console.print(table(SETTINGS, settings, plain=plain))
    for line in report.unknown:
        console.print(Text(printable(line)))
    console.print()
    console.print(table(CHECKS, checks, plain=plain))
