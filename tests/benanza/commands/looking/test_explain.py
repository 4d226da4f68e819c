"""`benanza explain`: the calls of a bound."""

import json
from pathlib import Path

from tests.benanza.conftest import Benanza


def test_it_prints_the_calls_that_take_the_longest(benanza: Benanza, data: Path) -> None:
    done = benanza("explain", "zoo:squeezenet", "--data", data, "--limit", "3")
    assert (done.returncode, done.stderr) == (0, "")
    title, columns, *rows, rest, alive = done.stdout.splitlines()
    assert title.startswith("squeezenet, batch 1: ")
    assert columns.startswith("operators")
    assert len(rows) == 3
    assert all("onnxruntime-cpu: " in row for row in rows)
    assert rest.startswith("and ")
    assert alive.startswith("at most ")


def test_its_document_adds_up_to_the_bound(benanza: Benanza, data: Path) -> None:
    done = benanza("explain", "squeezenet", "--data", data, "--format", "json")
    (found,) = json.loads(done.stdout)["explanations"]
    total_us = sum(call["us"] + call["conversion_us"] for call in found["calls"])
    assert abs(total_us - found["bound"]["sequential_us"]) < 1e-6 * total_us


def test_without_a_bound_it_says_what_to_do(benanza: Benanza, data: Path) -> None:
    done = benanza("explain", "zoo:alexnet", "--data", data)
    assert done.returncode == 1
    assert "say: benanza run zoo:alexnet" in done.stderr
