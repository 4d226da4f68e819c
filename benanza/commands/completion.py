"""`benanza completion`: what makes a shell complete the commands."""

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """The script that completes commands in a shell.

    \b
    Examples:
      benanza completion bash >> ~/.bashrc
      benanza completion zsh >> ~/.zshrc
      benanza completion fish > ~/.config/fish/completions/benanza.fish
    """
    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"this version of click does not know {shell}")
    root = ctx.find_root()
    click.echo(complete(root.command, {}, "benanza", "_BENANZA_COMPLETE").source())
