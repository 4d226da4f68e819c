"""What a notebook shows for results, by a real kernel."""

from typing import Any

import pytest

PROGRAM = """
import benanza
benanza.inspect("zoo:alexnet")
"""


@pytest.fixture
def cell() -> Any:
    """A cell with the program, after a kernel has run it."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROGRAM)])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    return book.cells[0]


@pytest.mark.integration
def test_a_result_is_shown_once_as_a_table(cell: Any) -> None:
    """Rich, where it finds itself in Jupyter, shows by itself what it prints."""
    (output,) = cell.outputs
    assert output.output_type == "execute_result"
    page = output.data["text/html"]
    assert page.count("<table") == 1
    assert page.count(">LRN<") == 2
