"""What may import what: no circle, no arrow up, and no service that knows another; and that things
are found: few modules in a folder, and no class that is called as another one.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]

PACKAGES = {
    "benanza": "benanza",
    "benanza_ingest": "services/ingest/benanza_ingest",
    "benanza_dedupe": "services/dedupe/benanza_dedupe",
    "benanza_runner": "services/runner/benanza_runner",
    "benanza_analyzer": "services/analyzer/benanza_analyzer",
    "benanza_backbone": "backbone/benanza_backbone",
    "benanza_schemas": "schemas/benanza_schemas",
}
"""The folder of each package."""

SERVICES = {"benanza_ingest", "benanza_dedupe", "benanza_runner", "benanza_analyzer"}

BELOW = {
    "benanza": {*SERVICES, "benanza_backbone", "benanza_schemas"},
    **{service: {"benanza_backbone", "benanza_schemas"} for service in SERVICES},
    "benanza_backbone": {"benanza_schemas"},
    "benanza_schemas": set(),
}
"""What each package may import besides itself."""


MOST_MODULES = 15


class Import(NamedTuple):
    """That a module imports another one; `runs` is whether it ever does so while a program runs."""

    importer: str
    imported: str
    runs: bool


def modules() -> dict[str, Path]:
    """The files of all modules, by their dotted names."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to((ROOT / folder).parent).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            assert name.split(".")[0] == package
            found[name] = path
    return found


def imports_of(module: str, source: str, known: Mapping[str, object]) -> Iterator[Import]:
    """What of `known` a module imports, in functions too, and only for its types."""
    nodes: list[tuple[ast.AST, bool]] = [(ast.parse(source), True)]
    while nodes:
        node, runs = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            runs = False
        nodes += [(child, runs) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{module} has a relative import"
            within = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in within]
        else:
            continue
        yield from (Import(module, name, runs) for name in names if name in known)


@pytest.fixture(scope="module")
def found() -> list[Import]:
    known = modules()
    return [
        each
        for module, path in known.items()
        for each in imports_of(module, path.read_text("utf-8"), known)
    ]


def circles(imports: list[Import]) -> list[list[str]]:
    """The modules of each circle of imports that a program runs."""
    graph = nx.DiGraph([(each.importer, each.imported) for each in imports if each.runs])
    return [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]


def wrong_arrows(imports: list[Import]) -> list[str]:
    """Imports of what isn't below; those for types count, too."""
    wrong = []
    for each in imports:
        package, other = (name.split(".")[0] for name in each[:2])
        if other != package and other not in BELOW[package]:
            wrong.append(f"{each.importer} imports {each.imported}")
    return wrong


def test_no_modules_import_each_other_in_a_circle(found: list[Import]) -> None:
    """An import in a function only puts off the trouble: neither module is to be had alone."""
    assert circles(found) == []


def test_arrows_go_down_only(found: list[Import]) -> None:
    assert wrong_arrows(found) == []


def test_no_folder_holds_more_modules_than_can_be_taken_in_at_a_glance() -> None:
    folders = Counter(
        path.parent.relative_to(ROOT).as_posix()
        for path in modules().values()
        if path.name != "__init__.py"
    )
    assert {folder: held for folder, held in folders.items() if held > MOST_MODULES} == {}


def test_public_classes_tell_themselves_apart() -> None:
    homes: dict[str, list[str]] = {}
    for module, path in modules().items():
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module)
    several = [sorted(where) for where in homes.values() if len(where) > 1]
    assert several == []


def test_what_is_looked_for_is_found() -> None:
    known = dict.fromkeys(("benanza.a", "benanza.b", "benanza_runner.c", "benanza_ingest.d"))
    sources = {
        "benanza.a": "from benanza import b\nimport benanza_runner.c",
        "benanza.b": "def later():\n    from benanza.a import name",
        "benanza_runner.c": "if TYPE_CHECKING:\n    from benanza_ingest.d import Name",
        "benanza_ingest.d": "import os, benanza.a",
    }
    found = [each for name, source in sources.items() for each in imports_of(name, source, known)]
    assert circles(found) == [["benanza.a", "benanza.b"]]
    assert sorted(wrong_arrows(found)) == [
        "benanza_ingest.d imports benanza.a",
        "benanza_runner.c imports benanza_ingest.d",
    ]


def test_all_modules_are_looked_at(found: list[Import]) -> None:
    assert {name.split(".")[0] for name in modules()} == PACKAGES.keys()
    assert ("benanza.cli", "benanza.commands.group", True) in found


PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = (*PACKAGES.values(), "")
"""Where what the page names may lie: its recipes leave out the folder of the package."""


def named(page: str) -> set[str]:
    """The files and folders that a page names in backticks."""
    return {
        name
        for name in re.findall(r"`([\w./*]+)`", page)
        if "/" in name or name.endswith((".py", ".md", ".json"))
    }


def is_there(name: str) -> bool:
    pattern = name.replace("NNNN", "*")
    return any(any((ROOT / folder).rglob(pattern.rstrip("/"))) for folder in FOLDERS)


def test_what_the_page_of_the_architecture_names_is_there() -> None:
    found = named(PAGE.read_text("utf-8"))
    assert len(found) > 50
    assert [name for name in sorted(found) if not is_there(name)] == []
    assert not is_there("cuda/nowhere.py")
