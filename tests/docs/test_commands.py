"""All pages: the commands that they tell people to type are there, with their options."""

import re
import shlex
from pathlib import Path

import click
import pytest

from benanza.cli import cli
from tests.docs.blocks import PAGES, ROOT

_BLOCK = re.compile(r"^```(?:console|sh|bash)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
_TYPED = re.compile(r"^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?benanza ([a-z].*)$", re.MULTILINE)


def typed(page: Path) -> list[str]:
    """What stands behind `benanza` in the lines of a page's blocks; blocks without a language may
    hold anything, so that only lines which begin so count.
    """
    return [
        line for block in _BLOCK.findall(page.read_text("utf-8")) for line in _TYPED.findall(block)
    ]


def parse(line: str) -> None:
    """Parses a command without running it. Raises `click.UsageError` as the program would."""
    arguments = [word for word in shlex.split(line, comments=True) if word != "…"]
    group: click.Command = cli
    context = click.Context(cli)
    while isinstance(group, click.Group):
        name, found, arguments = group.resolve_command(context, arguments)
        assert found is not None
        group, context = found, click.Context(found, info_name=name, parent=context)
    group.make_parser(context).parse_args(arguments)


def test_pages_have_commands() -> None:
    assert sum(len(typed(page)) for page in PAGES) > 40


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_is_there(page: Path) -> None:
    for line in typed(page):
        if "──" not in line:  # a line of a drawing
            parse(line)


def test_a_misspelt_command_or_option_is_noticed() -> None:
    for line in ("bound zoo:resnet50", "run model.onnx --btach 8"):
        with pytest.raises(click.UsageError):
            parse(line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_program_of_a_page_is_python(page: Path) -> None:
    text = page.read_text("utf-8")
    for program in re.findall(r"^```python[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        compile(program, page.name, "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_target_of_make_is_there(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = {".venv/.installed", *re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)}
    text = page.read_text("utf-8")
    named = re.findall(r"(?:^|`)make ([a-z.][\w./-]*)(?=`|$|\s+#)", text, re.MULTILINE)
    assert set(named) <= targets
