"""`benanza what-if`: a bound under other policies."""

import json
from pathlib import Path

from tests.benanza.conftest import Benanza


def test_it_prints_a_row_for_each_policy(benanza: Benanza, data: Path) -> None:
    done = benanza("what-if", "zoo:squeezenet", "--data", data)
    assert (done.returncode, done.stderr) == (0, "")
    title, columns, *rows = done.stdout.splitlines()
    assert title.startswith("squeezenet, batch 1: ")
    assert columns.startswith("what if")
    assert any(row.startswith("without fusion") for row in rows)


def test_its_document_has_the_same(benanza: Benanza, data: Path) -> None:
    done = benanza("what-if", "squeezenet", "--data", data, "--format", "json")
    (found,) = json.loads(done.stdout)["models"]
    (without,) = (each for each in found["what_ifs"] if each["name"] == "without fusion")
    assert without["sequential_us"] > found["bound"]["sequential_us"]


def test_without_a_bound_it_says_what_to_do(benanza: Benanza, data: Path) -> None:
    done = benanza("what-if", "zoo:alexnet", "--data", data)
    assert done.returncode == 1
    assert "say: benanza run zoo:alexnet" in done.stderr
