"""Cells and lines of the tables in Markdown."""

from collections.abc import Iterable

from benchmarks.pytorch.rows import Key


def begin(key: Key) -> tuple[str, str, str]:
    """The first cells of a line: model, precision and batch size."""
    return key[0], key[1], str(key[2])


def us(value: float | None) -> str:
    """A time, or that there is none."""
    return "–" if value is None else f"{value:.1f}"


def marked(text: str, mark: bool) -> str:
    """The text, in bold if it is to be marked."""
    return f"**{text}**" if mark else text


def line(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"
