"""One way to print a table, whatever reads it."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import IO, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 100_000
"""Wide enough that nothing is cut off where another program reads the lines."""

NOTEBOOK_WIDTH = 160

NAME_WIDTH = 60
"""Exporters write the way to a layer into its name, in hundreds of characters."""

PROSE_WIDTH = 30
"""Sentences have at least this."""

LEAST_NAME_WIDTH = 12
"""With fewer, names say nothing."""

OPERATORS_SHOWN = 4
"""Of a longer group, the first operators are shown."""


@dataclass(frozen=True)
class Column:
    """A column's title, the side that its cells keep to, and whether they are names, which are
    shortened, or sentences. Where there is no room for all, those that are more `spare` are left
    out first, and those that aren't spare never.
    """

    title: str
    justify: Literal["left", "right"] = "right"
    is_name: bool = False
    is_prose: bool = False
    spare: int = 0


def names(title: str) -> Column:
    """A column of names."""
    return Column(title, "left", is_name=True)


def prose(title: str) -> Column:
    """A column of sentences, which may take several lines."""
    return Column(title, "left", is_prose=True)


def fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> Table:
    """A table of at most this width: columns that there is no room for beside shorter names are
    left out; sentences take several lines. Without a `width` it is for a pipe, and has all.
    """
    if width is None:
        return _filled(_plain(), columns, rows, NAME_WIDTH)
    kept = list(range(len(columns)))
    short = max(LEAST_NAME_WIDTH, width // 3)
    while (room := width - _width(columns, rows, kept, short)) < 0:
        spare = [place for place in kept if columns[place].spare]
        if not spare:
            break
        kept.remove(max(spare, key=lambda place: columns[place].spare))
    most = min(short, _widest_name(columns, rows)) + room
    built = _of_columns(columns, rows, kept, max(LEAST_NAME_WIDTH, min(most, NAME_WIDTH)))
    if room < 0:  # Nothing more can be left out, and nothing may be cut off.
        for column in built.columns:
            column.no_wrap = False
    return built


def _of_columns(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    kept: Sequence[int],
    most: int,
) -> Table:
    shown = [[row[place] for place in kept] for row in rows]
    titles = [columns[place] for place in kept]
    built = _filled(Table(box=box.SIMPLE_HEAD), titles, shown, most)
    for place, column in zip(kept, built.columns, strict=True):
        column.no_wrap = not columns[place].is_prose
    return built


def _width(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], kept: Sequence[int], most: int
) -> int:
    """How wide a table of these columns is, with sentences in lines of `PROSE_WIDTH` and names of
    at most so many characters.
    """
    widest = [max(cells, key=cell_len) for cells in zip(*rows, strict=True)]
    row = [
        cell[:PROSE_WIDTH] if column.is_prose else cell
        for column, cell in zip(columns, widest, strict=True)
    ]
    built = _of_columns(columns, [row] if rows else [], kept, most)
    return Console(file=io.StringIO(), width=PIPE_WIDTH).measure(built).maximum


def _widest_name(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> int:
    shown = (
        len(shortened(cell))
        for row in rows
        for column, cell in zip(columns, row, strict=True)
        if column.is_name
    )
    return max(shown, default=NAME_WIDTH)


def console(file: IO[str]) -> Console:
    """A console for this stream: colours and its width on a terminal, neither in a pipe."""
    terminal = file.isatty()
    return Console(
        file=file,
        width=None if terminal else PIPE_WIDTH,
        highlight=False,
        soft_wrap=not terminal,
    )


class _Fitting(Table):
    """A table that is as wide as its terminal at most, as `fitted` says."""

    def __init__(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        super().__init__(box=box.SIMPLE_HEAD)
        self._whole = columns, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What there is room for."""
        yield fitted(*self._whole, options.max_width)


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, plain: bool) -> Table:
    """The rows under their titles, each cell as it is: what `rich` takes for markup, square
    brackets, may be part of a layer's name. A `plain` one is for a pipe, and has all columns.
    """
    built = _plain() if plain else _Fitting(columns, rows)
    return _filled(built, columns, rows, NAME_WIDTH)


def _plain() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))


def _filled(
    built: Table, columns: Sequence[Column], rows: Sequence[Sequence[str]], most: int
) -> Table:
    """The table with all columns, and names of at most so many characters."""
    for column in columns:
        built.add_column(Text(column.title), justify=column.justify, overflow="fold")
    for row in rows:
        cells = (
            shortened(cell, most) if column.is_name else printable(cell)
            for column, cell in zip(columns, row, strict=True)
        )
        built.add_row(*map(Text, cells))
    return built


def shortened(name: str, most: int = NAME_WIDTH) -> str:
    """A printable name of at most so many characters: of a longer one the begin and the end. A
    document has all of it.
    """
    shown = printable(name)
    if len(shown) <= most:
        return shown
    begin = most // 3
    return f"{shown[:begin]}…{shown[begin + 1 - most :]}"


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
    """What a notebook shows for these parts: tables as tables, and lines as paragraphs."""
    return "\n".join(map(_as_html, parts))


def _as_html(part: RenderableType) -> str:
    if not isinstance(part, Table):
        return f'<p style="white-space:pre-wrap">{_escaped(part)}</p>'
    sides = [f'style="text-align:{column.justify}"' for column in part.columns]
    titles = (column.header for column in part.columns)
    lines = [
        f"<tr>{_cells('th', sides, titles)}</tr>",
        *(f"<tr>{_cells('td', sides, row)}</tr>" for row in zip(*_columns(part), strict=True)),
    ]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _columns(shown: Table) -> list[list[RenderableType]]:
    return [list(column.cells) for column in shown.columns]


def _cells(tag: str, sides: Sequence[str], row: Iterable[RenderableType]) -> str:
    return "".join(
        f"<{tag} {side}>{_escaped(cell)}</{tag}>" for side, cell in zip(sides, row, strict=True)
    )


def _escaped(text: RenderableType) -> str:
    return escape(text.plain if isinstance(text, Text) else str(text))
