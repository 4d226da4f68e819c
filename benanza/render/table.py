"""One way to print a table, whatever reads it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Literal

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 100_000
"""Wide enough that nothing is cut off where another program reads the lines."""

NOTEBOOK_WIDTH = 160

NAME_WIDTH = 60
"""Exporters write the way to a layer into its name, in hundreds of characters."""

OPERATORS_SHOWN = 4
"""Of a longer group, the first operators are shown."""


@dataclass(frozen=True)
class Column:
    """A column's title, the side that its cells keep to, and whether they are names, which are
    shortened.
    """

    title: str
    justify: Literal["left", "right"] = "right"
    is_name: bool = False


def names(title: str) -> Column:
    """A column of names."""
    return Column(title, "left", is_name=True)


def console(file: IO[str]) -> Console:
    """A console for this stream: colours and its width on a terminal, neither in a pipe."""
    terminal = file.isatty()
    return Console(
        file=file,
        width=None if terminal else PIPE_WIDTH,
        highlight=False,
        soft_wrap=not terminal,
    )


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, plain: bool) -> Table:
    """The rows under their titles, each cell as it is: what `rich` takes for markup, square
    brackets, may be part of a layer's name."""
    built = Table(
        box=None if plain else box.SIMPLE_HEAD,
        pad_edge=not plain,
        padding=(0, 1) if not plain else (0, 2, 0, 0),
    )
    for column in columns:
        built.add_column(Text(column.title), justify=column.justify, overflow="fold")
    for row in rows:
        cells = (
            shortened(cell) if column.is_name else printable(cell)
            for column, cell in zip(columns, row, strict=True)
        )
        built.add_row(*map(Text, cells))
    return built


def shortened(name: str) -> str:
    """A printable name of at most `NAME_WIDTH` characters: of a longer one the begin and the end.
    A document has all of it.
    """
    shown = printable(name)
    if len(shown) <= NAME_WIDTH:
        return shown
    begin = NAME_WIDTH // 3
    return f"{shown[:begin]}…{shown[begin + 1 - NAME_WIDTH :]}"


def operators(op: str) -> str:
    """Operators joined by `+`, of many only the first."""
    ops = op.split("+")
    shown = "+".join(map(shortened, ops[:OPERATORS_SHOWN]))
    return shown if len(ops) <= OPERATORS_SHOWN else f"{shown}+… ({len(ops)})"


def listed(shown: Sequence[str], most: int) -> str:
    """The first of these, and how many more there are: `a, b and 3 more`."""
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more:,} more" if more > 0 else "")


def printable(text: str) -> str:
    """The text with control characters escaped: a name in a model must not move the cursor."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def html(parts: Sequence[RenderableType]) -> str:
    """What a notebook shows for these parts."""
    recorder = Console(
        record=True, file=io.StringIO(), width=NOTEBOOK_WIDTH, highlight=False, force_terminal=True
    )
    for part in parts:
        recorder.print(part)
    return recorder.export_html(
        inline_styles=True, code_format='<pre style="line-height:1.2">{code}</pre>'
    )
