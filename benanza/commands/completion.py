"""`benanza completion`: what makes a shell complete the commands."""

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

BREAKS = frozenset(":=")
"""Bash takes what stands beside these characters for words of its own, as in `zoo:NAME`."""


@add_completion_class
class UnbrokenWords(BashComplete):
    """Click's completion for bash, with words in one piece."""

    name = "bash"
    before = ""
    """The part of the word that bash takes for words before the last one."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the cursor, and the one that is to be completed."""
        broken = split_arg_string(os.environ["COMP_WORDS"])
        number = int(os.environ["COMP_CWORD"])
        words: list[str] = []
        starts = True
        for word in broken[: number + 1]:
            breaks = BREAKS.issuperset(word)
            if starts and not (breaks and words):
                words.append(word)
            else:
                words[-1] += word
            starts = not breaks
        incomplete = words.pop() if number < len(broken) else ""
        last = max(map(incomplete.rfind, BREAKS))
        self.before = incomplete[: last + 1]
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """The item for the script, without what stands there already."""
        return f"{item.type},{item.value.removeprefix(self.before)}"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """The script that completes commands in a shell.

    It completes models of the zoo, and models and systems that are known, as well.

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
