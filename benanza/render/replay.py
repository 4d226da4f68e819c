"""Offsets that were moved, for people."""

from rich.console import Console

from benanza.render.table import Column, table
from benanza.results.operating import Replay

COLUMNS = (
    Column("topic", "left"),
    Column("partition"),
    Column("before"),
    Column("now"),
)


def print_replay(console: Console, done: Replay) -> None:
    """Prints where the group goes on in each partition."""
    rows = [(m.topic, str(m.partition), f"{m.before:,}", f"{m.after:,}") for m in done.partitions]
    console.print(f"group {done.group}")
    console.print(table(COLUMNS, rows, plain=not console.is_terminal))
