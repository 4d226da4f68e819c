"""The pages, and the blocks of code in those of docs/."""

import re
import sys
import tomllib
from pathlib import Path

from docs.repository_pages import PAGES as OUTSIDE

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", *(ROOT / page for page in OUTSIDE)])
"""All pages: those of the site, and the first one of the repository."""

_BLOCK = re.compile(r'^```(\w+)?(?: title="([^"]+)")?\n(.*?)^```', re.DOTALL | re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    """The page's blocks in this language, in their order; without one they are commands."""
    found = _BLOCK.findall(DOCS.joinpath(page).read_text("utf-8"))
    return [text for name, _, text in found if name == language]


def block(page: str, beginning: str) -> str:
    """The page's one block that begins with this."""
    (found,) = [text for text in blocks(page, "") if text.startswith(beginning)]
    return found


def line(page: str, words: str) -> str:
    """The one command in a block of the page that has these words."""
    lines = [each for text in blocks(page, "") for each in text.splitlines() if words in each]
    (found,) = lines
    return found


def files(page: str) -> dict[str, str]:
    """The page's blocks that are whole files, by the names of the files."""
    found = _BLOCK.findall(DOCS.joinpath(page).read_text("utf-8"))
    return {title: text for _, title, text in found if title}


def install(page: str, folder: Path) -> None:
    """Puts the package that a page shows into a folder, as if it were installed there.

    It isn't built, which would take what a test environment lacks; its entry points are written as
    an installer writes them.
    """
    shown = files(page)
    for name, text in shown.items():
        (folder / name).write_text(text, "utf-8")
    project = tomllib.loads(shown["pyproject.toml"])["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata)
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def python_path(folder: Path) -> str:
    """A `PYTHONPATH` with the folder, the repository, and what this process finds."""
    return ":".join([str(folder), str(ROOT), *filter(None, sys.path)])
