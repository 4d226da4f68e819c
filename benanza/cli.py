"""The command line. The commands are in `benanza.commands`, a file each."""

import os
import sys

import click

from benanza.commands.group import ListedCommands

COMPLETING = "_BENANZA_COMPLETE"
"""The variable in which a shell asks for what completes a word."""


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from importlib.metadata import version

        from benanza.installation.commit import built_from

        commit = built_from()
        click.echo(f"benanza, version {version('benanza')}{f' ({commit})' if commit else ''}")
        ctx.exit()


@click.group(cls=ListedCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version, with the commit that it was built from, and exit.",
)
def cli() -> None:
    """How fast a deep-learning model could run on this machine, and what stands in between.

    A MODEL is a path, a file:, http:, https: or s3: address, or zoo:NAME.

    Exit status: 0 done; 1 failed, or nothing is known; 2 wrong use; 3 done, and some bound is
    partial.

    \b
    Examples:
      benanza inspect zoo:squeezenet
      benanza run zoo:squeezenet resnet50.onnx --batch 1,8
      benanza bounds
    """


def main() -> None:
    """The `benanza` program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name that the terminal's encoding lacks is printed escaped.
            stream.reconfigure(errors="backslashreplace")
    if COMPLETING in os.environ:
        import benanza.commands.completion  # noqa: F401 - how bash's words are read
    cli()
