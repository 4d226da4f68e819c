"""What an older version stored is read by today's commands, and says the same.

`tests/data/older/version-9.tar.xz` is the data folder that Benanza made when the schema had version
9 and seven migrations, and what its commands said about it: a model of five layers was run, and
profiled.
"""

import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.benanza.conftest import Benanza
from tests.deploy.compose import ROOT

ARCHIVE = ROOT / "tests" / "data" / "older" / "version-9.tar.xz"

SAID = {
    "bounds": ("bounds",),
    "history": ("history", "older"),
    "advice": ("advise", "older"),
}
"""The commands whose documents are in the archive."""


@pytest.fixture
def older(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def differences(before: Any, after: Any, place: str = "") -> list[str]:
    """Where a document lacks what it had, or says something else. It may say more."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            each
            for name, value in before.items()
            for each in differences(value, after.get(name, "nothing"), f"{place}.{name}")
        ]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [
            each
            for index, (one, other) in enumerate(zip(before, after, strict=True))
            for each in differences(one, other, f"{place}[{index}]")
        ]
    same = before == after or (
        isinstance(before, float) and isinstance(after, float) and before == pytest.approx(after)
    )
    return [] if same else [f"{place}: {before!r} was said, and is {after!r}"]


def without_savings(said: dict[str, Any]) -> list[Any]:
    """The profiles, and what is advised about each, in one order."""
    facts = ("source", "what", "op", "times", "layers")
    return [
        [
            model["profile"],
            sorted([str(each[fact]) for fact in facts] for each in model["advice"]),
        ]
        for model in said["models"]
    ]


@pytest.mark.parametrize("anew", [False, True], ids=["its store", "its log alone"])
def test_an_older_folder_says_what_it_said(anew: bool, older: Path, benanza: Benanza) -> None:
    """From the store, which is migrated; and where that is deleted, from the log alone."""
    if anew:
        shutil.rmtree(older / "store" / "clickhouse")
    for name, command in SAID.items():
        done = benanza(*command, "--data", older / "store", "--format", "json")
        assert done.returncode == 0, done.stderr
        before = json.loads((older / "said" / f"{name}.json").read_text("utf-8"))
        after = json.loads(done.stdout)
        if (
            name == "advice"
        ):  # What it saves, and so its order, counts in proportion to the run now.
            before, after = (without_savings(said) for said in (before, after))
        # Its sums of rooflines could be above the bound: they are no speed of light.
        taken_back = re.compile(r"\.bounds\[\d+\]\.roofline_us: [\d.]+ was said, and is None")
        assert [e for e in differences(before, after) if not taken_back.fullmatch(e)] == []


def test_the_other_commands_read_it(older: Path, benanza: Benanza, tmp_path: Path) -> None:
    for command in (
        ("explain", "older"),
        ("what-if", "older"),
        ("questions", "older"),
        ("spec", "older"),
        ("layers", "older"),
        ("report", "older", "-o", str(tmp_path / "report.html")),
        ("dead-letters", "list"),
    ):
        done = benanza(*command, "--data", older / "store")
        assert done.returncode == 0, done.stderr
