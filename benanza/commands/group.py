"""The group of all commands: each is imported when it is asked for, and not before."""

import difflib
from collections.abc import Iterator
from importlib import import_module

import click
from click.shell_completion import CompletionItem

from benanza.commands.listed import SECTIONS, Listed


class ListedCommands(click.Group):
    """Commands in the sections of help.

    What a user can cause becomes one line on standard error and exit status 1.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, section by section."""
        return [listed.name for listed in _listed()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now if it wasn't before."""
        if cmd_name not in self.commands:
            for listed in _listed():
                if listed.name == cmd_name:
                    module = import_module(f"benanza.commands.{listed.where}")
                    self.add_command(getattr(module, listed.where.rpartition(".")[2]))
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is asked for; for a misspelt one an error that names its likes."""
        name = args[0]
        known = self.get_command(ctx, name) is not None
        if not (known or name.startswith("-") or ctx.resilient_parsing):
            close = difflib.get_close_matches(name, self.list_commands(ctx))
            meant = f"did you mean {' or '.join(close)}?" if close else "see benanza --help"
            ctx.fail(f"there is no command {name!r}; {meant}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections, each command in a line."""
        widest = max(len(listed.name) for listed in _listed())
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(each.name.ljust(widest), each.does) for each in commands])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, and the group's own options."""
        begun = [
            CompletionItem(listed.name, help=listed.does)
            for listed in _listed()
            if listed.name.startswith(incomplete)
        ]
        return [*begun, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command that was asked for."""
        from benanza_backbone.errors import BenanzaError

        try:
            return super().invoke(ctx)
        except BenanzaError as error:
            click.echo(f"error: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("error: interrupted; the same command again goes on from here", err=True)
        from benanza.commands.options import FAILED

        raise click.exceptions.Exit(FAILED)


def _listed() -> Iterator[Listed]:
    for commands in SECTIONS.values():
        yield from commands
