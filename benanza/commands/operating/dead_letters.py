"""`benanza dead-letters`: what the services could not process."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benanza.commands.options import (
    FAILED,
    Command,
    Format,
    data_option,
    format_option,
    print_json,
)
from benanza.commands.startup import settings_of
from benanza.render.dead_letters import print_dead_letter, print_dead_letters
from benanza.render.table import console
from benanza.services import SERVICES

if TYPE_CHECKING:
    from benanza.operating.dead_letters import Action


def service_option(command: Command) -> Command:
    """--service S."""
    return click.option("--service", type=click.Choice(list(SERVICES)), help="Those of one.")(
        command
    )


@click.group("dead-letters")
def dead_letters() -> None:
    """What the services could not process: look, replay, drop.

    Works on the Kafka that BENANZA_KAFKA names; without it on the embedded log.

    \b
    Examples:
      benanza dead-letters list --service ingest
      benanza dead-letters show ID
      benanza dead-letters replay --all --service ingest
      benanza dead-letters drop ID ID
    """


@dead_letters.command("list")
@service_option
@click.option("--all", "settled", is_flag=True, help="Those replayed or dropped as well.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=100,
    help="The newest so many.",
    show_default=True,
)
@data_option
@format_option
def list_(
    *, service: str | None, settled: bool, limit: int, data: Path | None, output: Format
) -> None:
    """The dead letters that are open, newest first."""
    from benanza.operating.dead_letters import list_dead_letters

    letters = list_dead_letters(settings_of(data), service=service, limit=limit, settled=settled)
    if output == "json":
        print_json(letters)
    else:
        print_dead_letters(console(sys.stdout), letters)


@dead_letters.command()
@click.argument("identity", metavar="ID")
@data_option
@format_option
def show(*, identity: str, data: Path | None, output: Format) -> None:
    """One dead letter: why it failed, and the event that it holds."""
    from benanza.operating.dead_letters import show_dead_letter

    content = show_dead_letter(settings_of(data), identity)
    if output == "json":
        print_json(content)
    else:
        print_dead_letter(console(sys.stdout), content)


def settling(command: Command) -> Command:
    """[ID...] [--all] [--service S] [--data DIR] [--format F]."""
    ids = click.argument("ids", nargs=-1, metavar="[ID...]")
    everything = click.option("--all", "everything", is_flag=True, help="All that are open.")
    return ids(everything(service_option(data_option(format_option(command)))))


@dead_letters.command()
@settling
@click.pass_context
def replay(
    ctx: click.Context,
    *,
    ids: tuple[str, ...],
    everything: bool,
    service: str | None,
    data: Path | None,
    output: Format,
) -> None:
    """Puts the original events back into their topics.

    Every service that reads the topic sees them again; their effects are idempotent.
    """
    _replay_or_drop(ctx, "replayed", ids, everything, service, data, output)


@dead_letters.command()
@settling
@click.pass_context
def drop(
    ctx: click.Context,
    *,
    ids: tuple[str, ...],
    everything: bool,
    service: str | None,
    data: Path | None,
    output: Format,
) -> None:
    """Marks dead letters as done with. The topic keeps them: `list --all` shows them."""
    _replay_or_drop(ctx, "dropped", ids, everything, service, data, output)


def _replay_or_drop(
    ctx: click.Context,
    action: "Action",
    ids: tuple[str, ...],
    everything: bool,
    service: str | None,
    data: Path | None,
    output: Format,
) -> None:
    from benanza.operating.dead_letters import settle_dead_letters

    if bool(ids) == everything:
        raise click.UsageError("name the ids, or say --all")
    if service and not everything:
        raise click.UsageError("--service goes with --all")
    done = settle_dead_letters(settings_of(data), action, ids=ids, service=service)
    if output == "json":
        print_json(done)
    else:
        for identity in done.dead_letters:
            click.echo(f"{action} {identity}")
        if not done.dead_letters and not done.errors:
            click.echo("no dead letters are open")
    for error in done.errors:
        click.echo(f"error: {error.reason}", err=True)
    if done.errors:
        ctx.exit(FAILED)
