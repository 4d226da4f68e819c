"""Tables on a terminal, in a pipe and in a notebook."""

import io
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from benanza.render.table import (
    NAME_WIDTH,
    Column,
    console,
    fitted,
    html,
    names,
    printable,
    prose,
    shortened,
    table,
)

COLUMNS = (Column("model", "left"), Column("µs"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, rows: list[tuple[str, str]]) -> str:
    target = console(stream)
    target.print(table(COLUMNS, rows, plain=not target.is_terminal))
    return stream.getvalue()


def test_a_pipe_gets_aligned_text_alone() -> None:
    lines = shown(io.StringIO(), [("alexnet", "1.5"), ("vgg", "20.0")]).splitlines()
    assert [line.rstrip() for line in lines] == [
        "model      µs",
        "alexnet   1.5",
        "vgg      20.0",
    ]


def test_a_pipe_gets_long_cells_on_one_line() -> None:
    name = "x" * 5000
    lines = shown(io.StringIO(), [(name, "1")]).splitlines()
    assert len(lines) == 2
    assert lines[1].split() == [name, "1"]


def test_a_terminal_gets_its_width_and_all_of_a_long_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    text = shown(Terminal(), [("x" * 100, "1")])
    assert text.count("x") == 100
    assert "─" in text


def test_names_that_look_like_markup_are_printed_as_they_are() -> None:
    assert "[bold]conv[/bold] :smile:" in shown(io.StringIO(), [("[bold]conv[/bold] :smile:", "1")])


def test_a_name_cannot_send_commands_to_the_terminal() -> None:
    assert r"\x1b[2Jconv\n" in shown(io.StringIO(), [("\x1b[2Jconv\n", "1")])


@given(st.text())
def test_what_is_printable_stays_and_the_rest_is_escaped(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)
    if text.isprintable():
        assert printable(text) == text


def test_a_notebook_gets_html_with_names_escaped() -> None:
    page = html([table(COLUMNS, [("<script>", "1")], plain=False)])
    assert "&lt;script&gt;" in page
    assert "<script>" not in page


def test_a_notebook_gets_a_table_as_a_table_and_a_line_as_a_paragraph() -> None:
    page = html([table(COLUMNS, [("conv", "1"), ("relu", "22")], plain=False), "on a [GPU] & so"])
    document = ElementTree.fromstring(f"<div>{page}</div>")
    rows = [[cell.text for cell in row] for row in document.iter("tr")]
    assert rows == [[column.title for column in COLUMNS], ["conv", "1"], ["relu", "22"]]
    assert [paragraph.text for paragraph in document.iter("p")] == ["on a [GPU] & so"]


def test_names_are_shortened_and_nothing_else_is() -> None:
    long = "/".join(f"part{number}" for number in range(40))
    stream = io.StringIO()
    columns = (names("layer"), Column("note", "left"))
    console(stream).print(table(columns, [(long, long)], plain=True))
    name, note = stream.getvalue().splitlines()[1].split()
    assert len(name) == NAME_WIDTH
    assert (name[:10], name[-10:]) == (long[:10], long[-10:])
    assert note == long


@given(st.text(max_size=100))
def test_a_shortened_name_is_printable_and_no_longer_than_it_may_be(name: str) -> None:
    found = shortened(name)
    assert len(found) <= NAME_WIDTH
    assert found.isprintable()
    assert found == printable(name) or "…" in found


NARROW = (names("name"), Column("inputs", "left", spare=1), Column("takes µs"), prose("why"))

ROW = ("a_name_of_forty_characters_that_is_too_lo", "32×256×56×56", "1,234.5", "it has none " * 5)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_columns_are_left_out_rather_than_folded(width: int) -> None:
    stream = Terminal()
    target = Console(file=stream, width=width, force_terminal=True, color_system=None)
    target.print(fitted(NARROW, [ROW], width))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert any("1,234.5" in line for line in lines)
    assert any("takes µs" in line for line in lines)
    assert any(ROW[1] in line for line in lines) == (width == 120)
    assert any(ROW[0] in line for line in lines) == (width == 120)
    assert {word for line in lines[3:] for word in line.split()[-3:]} >= {"it", "has", "none"}


def test_a_pipe_has_all_columns() -> None:
    assert len(fitted(NARROW, [ROW], None).columns) == 4
