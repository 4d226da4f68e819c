"""The pages of commands and settings have all that the program has."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from benanza.cli import cli
from benanza_backbone.settings import load
from docs.command_reference import commands, settings


@pytest.fixture(scope="module")
def page() -> str:
    """What the page of commands has."""
    return commands()


def below(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """The names of all commands of a group, with the program's, and theirs."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            inner = click.Context(found, context, name)
            yield inner.command_path, found
            yield from below(found, inner)


def test_every_command_has_its_options_below_its_name(page: str) -> None:
    parts = {part.partition("\n")[0].lstrip("# "): part for part in page.split("\n##")}
    named = dict(below(cli, click.Context(cli, info_name="benanza")))
    assert len(named) > 40
    for name, command in named.items():
        for option in command.params:
            if isinstance(option, click.Option) and not option.hidden:
                assert max(option.opts, key=len) in parts[name], name


def test_examples_are_code_and_options_are_not_markup(page: str) -> None:
    assert "Examples:\n\n```\nbenanza inspect resnet50.onnx\n" in page
    assert "any open one as INPUT\\[AXIS\\]" in page
    assert "\b" not in page


def test_every_setting_has_its_default_of_any_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    table = settings()
    assert all(f"| `{setting.name}` |" in table for setting in load({}).listed)
    assert "| `~/.local/share/benanza` |" in table
    assert str(Path.home()) not in table
