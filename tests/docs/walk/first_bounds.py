"""docs/demo.md and docs/tutorial.md: bounds here and on a recorded GPU, and a report."""

import re
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker

from tests.docs.blocks import block, blocks
from tests.docs.walk.clone import FreshClone
from tests.docs.walk.shell import Shell

TUTORIAL = "tutorial.md"
DEMO = "demo.md"

DEMO_S = 3600.0
"""Downloads of a gigabyte of packages, and benchmarks of nine models."""


def demo(clone: FreshClone) -> None:
    """`make demo`, on a machine that has nothing yet."""
    tables = [text for text in blocks(DEMO, "") if text.startswith("model  ")]
    shown, recorded, _ = tables
    with clone.shell() as shell:
        first = block(DEMO, "make demo").strip()
        said = shell.run(first, DEMO_S)
        assert _names(shown) == _names(said)[: len(_names(shown))]
        assert all(name in said for name in recorded.splitlines()), said
        report = clone.folder / "data" / "demo" / "report.html"
        assert report.stat().st_size > 0
        shell.run(first)


def _names(table: str) -> list[str]:
    """The models of the rows whose bounds have all layers."""
    return re.findall(r"^(\w+) .* full *$", table, re.MULTILINE)


def tutorial(clone: FreshClone) -> None:
    """Each command prints what stands below it, in one data folder; so does the program."""
    with clone.shell() as shell:
        shell.run(block(TUTORIAL, "export PATH"))
        for shown in blocks(TUTORIAL, "console"):
            command, printed = shown.removeprefix("$ ").split("\n", 1)
            _check(shell, command, printed)
        assert (clone.folder / "resnet50.html").stat().st_size > 0
        (program,), (printed,) = blocks(TUTORIAL, "python"), blocks(TUTORIAL, "text")
        (clone.folder / "program.py").write_text(program)
        _check(shell, "python program.py", printed)


def _check(shell: Shell, command: str, printed: str) -> None:
    said = shell.run(command)
    options = ELLIPSIS | NORMALIZE_WHITESPACE
    assert OutputChecker().check_output(printed, said, options), f"{command}\n{said}"
