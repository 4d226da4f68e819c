"""What a statement returns, for people."""

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from rich.console import Console

from benanza.installation.configured import known_store
from benanza.render.table import Column, fitted
from benanza.render.units import plural
from benanza_backbone.settings import Settings

MOST_ROWS = 10_000
"""More are for programs."""

_FORM = "JSONCompactStringsEachRowWithNamesAndTypes"
_NULL = "ᴺᵁᴸᴸ"
"""What stands in this format for null, of any type."""


class Rows(NamedTuple):
    """Titles and types of columns, cells as ClickHouse writes them, and whether there are more."""

    titles: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: bool


def first_rows(settings: Settings, sql: str) -> Rows:
    """The first rows that the statement returns.

    Raises `BenanzaError` as `known_store` and `Store.answer` do.
    """
    with known_store(settings) as store, store.answer(sql, _FORM, MOST_ROWS + 1) as answer:
        lines: Iterable[list[str]] = map(json.loads, answer)
        titles, types, *rows = islice(lines, MOST_ROWS + 3)
    return Rows(titles, types, rows[:MOST_ROWS], more=len(rows) > MOST_ROWS)


def print_rows(console: Console, found: Rows) -> None:
    """Prints a table. On a terminal, columns that there is no room for are left out, the last ones
    first, and named below.
    """
    columns = [
        Column(title, "right" if _is_number(type_) else "left", is_name=True, spare=place)
        for place, (title, type_) in enumerate(zip(found.titles, found.types, strict=True))
    ]
    cells = [list(map(_cell, row, found.types)) for row in found.rows]
    shown = fitted(columns, cells, console.width if console.is_terminal else None)
    console.print(shown)
    left_out = found.titles[len(shown.columns) :]
    if left_out:
        console.print(f"no room for {', '.join(left_out)}; --format csv has them")
    if found.more:
        console.print(f"the first {plural(MOST_ROWS, 'row')}; --format csv has all")


def _is_number(type_: str) -> bool:
    plain = type_.removeprefix("LowCardinality(").removeprefix("Nullable(")
    return plain.startswith(("Int", "UInt", "Float", "Decimal"))


def _cell(text: str, type_: str) -> str:
    """The cell, a float by its first six digits, and nothing for what is null."""
    if text == _NULL:
        return ""
    return f"{float(text):.6g}" if "Float" in type_ and _is_number(type_) else text
