"""The notebooks of `examples/`, and what notebooks show for results, by one real kernel."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benanza import inspect
from benanza.importing.recording import read_recording
from benanza.installation.embedded import opened_log
from benanza.looking.bounds import brought_up_to_date
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.codec import decode
from benanza_schemas.events import ModelProfiled
from tests.benanza.conftest import FirstRun, environment
from tests.benanza.data_folder import settings_in
from tests.benanza.recorded import RECORDING, recorded_models
from tests.shared import made_once

nbformat = pytest.importorskip("nbformat")
notebooks = pytest.importorskip("tests.benanza.notebooks")
pytest.importorskip("ipykernel")

pytestmark = pytest.mark.integration

RUNS = RECORDING.with_name("nvidia-h200-runs.xz")
RAN = "ran.ipynb"


def _measured(folder: Path, here: Path) -> None:
    """Where squeezenet was measured on this machine, and on an H200 two more, and its runs."""
    settings = recorded_models(folder / "data")
    with SqliteEventLog(settings_in(here).event_log) as log:
        results = [decode(record.value) for record in log.records("results")]
    model_id = inspect("zoo:squeezenet").model_id
    there = [
        event
        for _, event in read_recording(RUNS)
        if isinstance(event, ModelProfiled)
        and (event.model_id, event.precision) == (model_id, "fp16")
    ]
    with opened_log(settings) as log:
        log.append([as_message(event) for event in (*results, *there)])
    brought_up_to_date(settings)


def _ran(folder: Path) -> None:
    """One kernel runs the notebooks one after the other, over what was measured."""
    book = nbformat.v4.new_notebook()
    book.cells = [cell for name in notebooks.NOTEBOOKS for cell in notebooks.read(name).cells]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(folder).items():
            patch.setenv(name, value)
        patch.setenv("BENANZA_DATA", str(folder / "data"))
        notebooks.run(book, skips=True)
    (folder / RAN).write_text(nbformat.writes(book), "utf-8")


@pytest.fixture(scope="module")
def cells(first_run: FirstRun) -> dict[str, Any]:
    """All cells with code, by id, with what they show."""

    def make(folder: Path) -> None:
        _measured(folder, first_run[0])
        _ran(folder)

    book = nbformat.read(made_once("notebooks", make) / RAN, as_version=4)
    return {cell.id: cell for cell in book.cells if cell.cell_type == "code"}


def test_each_cell_shows_what_is_stored_of_it(cells: dict[str, Any]) -> None:
    """As many outputs of the same kinds: figures are of another run."""
    stored = {
        cell.id: cell
        for name in notebooks.NOTEBOOKS
        for cell in notebooks.read(name).cells
        if cell.cell_type == "code" and cell.outputs
    }
    ran = {name: cell for name, cell in cells.items() if _kinds(cell)}
    assert ran.keys() == stored.keys()
    assert {n: _kinds(c) for n, c in ran.items()} == {n: _kinds(c) for n, c in stored.items()}


def test_a_result_is_shown_once_as_a_table(cells: dict[str, Any]) -> None:
    """Rich, where it finds itself in Jupyter, shows by itself what it prints."""
    tables = [
        output.data["text/html"]
        for output in cells["first-bound-4"].outputs
        if output.output_type == "execute_result"
    ]
    (page,) = tables
    assert page.count("<table") == 2, "one for each system"
    assert "squeezenet" in page


def test_a_statement_that_writes_is_refused(cells: dict[str, Any]) -> None:
    said = "".join(output.text for output in cells["your-own-sql-9"].outputs)
    assert "is refused" in said
    assert "did you mean 'sequential_us'" in said


@pytest.mark.parametrize("name", notebooks.NOTEBOOKS)
def test_what_is_stored_names_no_folder_of_a_machine(name: str) -> None:
    text = (notebooks.FOLDER / f"{name}.ipynb").read_text("utf-8")
    assert not re.search(r"(?<![\w.])/(home|root|tmp|work|Users)/", text)


def _kinds(cell: Any) -> list[str]:
    """The kinds of the outputs in order; what is printed comes in one piece or several."""
    kinds = [output.output_type for output in cell.outputs if output.get("name") != "stderr"]
    return [kind for before, kind in pairwise(["", *kinds]) if (before, kind) != ("stream",) * 2]
