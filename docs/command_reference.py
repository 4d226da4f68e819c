"""A hook of MkDocs: the pages of all commands and settings have what these say of themselves.

`benanza --help` has the sections, and each command its help; so the pages can't differ from them.
"""

import re
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from benanza.cli import cli
from benanza.commands.listed import SECTIONS
from benanza_backbone.settings import load

_AS_IT_IS = "\b\n"
"""How a paragraph of help begins whose lines aren't to be joined."""

_BESIDE_CODE = re.compile(r"(`[^`]*`)")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page, with the commands or the settings if it is theirs."""
    match page.file.src_uri:
        case "reference/commands.md":
            return markdown.replace("`make docs` lists all commands here.", commands())
        case "reference/settings.md":
            return markdown.replace("`make docs` lists all settings here.", settings())
    return markdown


def commands() -> str:
    """All commands in Markdown, by the sections of help."""
    context = click.Context(cli, info_name="benanza")
    lines: list[str] = []
    for section, listed in SECTIONS.items():
        lines += [f"## {section}", ""]
        for each in listed:
            command = cli.get_command(context, each.name)
            assert command is not None, each
            lines += _command(command, click.Context(command, context, each.name), 3)
    return "\n".join(lines)


def settings() -> str:
    """The table of all settings, as they are where nothing is set."""
    home = str(Path.home())
    rows = []
    for setting in load({}).listed:
        default = f"`{setting.value.replace(home, '~')}`" if setting.value else ""
        rows.append(f"| `{setting.name}` | {_escaped(setting.description)} | {default} |")
    return "\n".join(["| variable | what it is | default |", "|---|---|---|", *rows, ""])


def _command(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """The lines of a command, and of its own below it."""
    yield f"{'#' * level} {context.command_path}\n"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```\n"
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        yield from _paragraph(paragraph)
    yield from _options(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None, name
            yield from _command(below, click.Context(below, context, name), level + 1)


def _paragraph(text: str) -> Iterator[str]:
    if not text.startswith(_AS_IT_IS):
        yield f"{_escaped(text)}\n"
        return
    title, *lines = text.removeprefix(_AS_IT_IS).splitlines()
    yield f"{title}\n"
    yield "\n".join(["```", *(line.removeprefix("  ") for line in lines), "```\n"])


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """The table of options; what all have, `--help`, isn't in it."""
    records = [
        option.get_help_record(context)
        for option in command.params
        if isinstance(option, click.Option)
    ]
    rows = [f"| `{names}` | {_escaped(does)} |" for names, does in filter(None, records)]
    if rows:
        yield "\n".join(["| option | |", "|---|---|", *rows, ""])


def _escaped(text: str) -> str:
    """A text of help as Markdown: what is code stays so, and nothing else is markup."""
    parts = _BESIDE_CODE.split(" ".join(text.split()))
    parts[::2] = [re.sub(r"([\\*_<\[\]|])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts).replace("://", "&#58;//")  # not to be made a link
