"""All pages: the files that they mention are there; of services' READMEs, so are the folders."""

import re
import subprocess
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.docs.blocks import PAGES, ROOT

_FILE = re.compile(r"`([\w./-]+\.py)`")
_FOLDER = re.compile(r"`([\w./-]+/)`")
_PYTHON = re.compile(r"`(benanza_[\w.]+)`")
_PICTURE = re.compile(r'src(?:set)?="([^"]+)"')

READMES = [page for page in PAGES if page.match("services/*/README.md")]


@cache
def listed() -> list[str]:
    """The files of the repository, each with a slash before it."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [f"/{path}" for path in done.stdout.splitlines() if ROOT.joinpath(path).exists()]


def lacking(text: str, home: str = "") -> list[str]:
    """The files in a text that aren't there.

    A page names a file by the end of its path; the README of a service, in `home`, names one of
    that service so, or any by its path from the root of the repository. Its folders count, too.
    """
    below = [path for path in listed() if path.startswith(f"/{home}")]
    missing = [
        name
        for name in _FILE.findall(text)
        if not any(path.endswith(f"/{name}") for path in below) and f"/{name}" not in listed()
    ]
    folders = _FOLDER.findall(text) if home else []
    return missing + [
        name
        for name in folders
        if not any(f"/{name}" in path for path in below) and not ROOT.joinpath(name).is_dir()
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    home = f"{page.parent.relative_to(ROOT)}/" if page in READMES else ""
    assert lacking(page.read_text("utf-8"), home) == []


def test_the_pictures_of_the_first_screen_are_there() -> None:
    named = _PICTURE.findall(ROOT.joinpath("README.md").read_text("utf-8"))
    assert len(named) >= 2
    for picture in named:
        assert f"/{picture}" in listed(), picture


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.parent.name)
def test_every_python_name_of_a_service_is_there(page: Path) -> None:
    for name in _PYTHON.findall(page.read_text("utf-8")):
        resolve_name(name)


def test_files_that_are_not_there_are_noticed() -> None:
    text = "`core.py` and `benanza_runner/core.py` and `nothing/` and `tests/conftest.py`"
    assert lacking(text, "services/dedupe/") == ["benanza_runner/core.py", "nothing/"]
    assert lacking("`nowhere.py` and `nothing/`") == ["nowhere.py"]
