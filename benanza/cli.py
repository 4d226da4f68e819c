"""The command line. The commands are in `benanza.commands`, a file each."""

import sys
from importlib.metadata import version

import click

from benanza.commands.agents.agents import agents
from benanza.commands.agents.evaluations import evaluations
from benanza.commands.completion import completion
from benanza.commands.importing.import_recordings import import_recordings
from benanza.commands.looking.advise import advise
from benanza.commands.looking.bounds import bounds
from benanza.commands.looking.explain import explain
from benanza.commands.looking.generation import generation
from benanza.commands.looking.history import history
from benanza.commands.looking.inspect import inspect
from benanza.commands.looking.layers import layers
from benanza.commands.looking.profile import profile
from benanza.commands.looking.questions import questions
from benanza.commands.looking.report import report
from benanza.commands.looking.spec import spec
from benanza.commands.looking.trace import trace
from benanza.commands.looking.what_if import what_if
from benanza.commands.looking.witness import witness
from benanza.commands.operating.check_config import check_config
from benanza.commands.operating.dead_letters import dead_letters
from benanza.commands.operating.prune import prune
from benanza.commands.operating.replay import replay
from benanza.commands.operating.retry import retry
from benanza.commands.operating.seed_known_layers import seed_known_layers
from benanza.commands.operating.status import status
from benanza.commands.operating.topics import topics
from benanza.commands.options import FAILED
from benanza.commands.publishing.export import export
from benanza.commands.publishing.publish import publish
from benanza.commands.publishing.zoo import zoo
from benanza.commands.running.evaluate import evaluate
from benanza.commands.running.gate import gate
from benanza.commands.running.run import run
from benanza.commands.running.serve import serve
from benanza.commands.suites.suite import suite
from benanza.commands.tasks.solve import solve
from benanza.commands.tasks.tasks import tasks
from benanza.installation.commit import built_from
from benanza_backbone.errors import BenanzaError


class Commands(click.Group):
    """Turns what a user can cause into one line on standard error and exit status 1."""

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command that was asked for."""
        try:
            return super().invoke(ctx)
        except BenanzaError as error:
            click.echo(f"error: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("error: interrupted; the same command again goes on from here", err=True)
        raise click.exceptions.Exit(FAILED)


def _show_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        commit = built_from()
        click.echo(f"benanza, version {version('benanza')}{f' ({commit})' if commit else ''}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
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

    Exit status: 0 done; 1 failed; 2 wrong use; 3 done, and some bound is partial.

    \b
    Examples:
      benanza inspect zoo:squeezenet
      benanza run zoo:squeezenet resnet50.onnx --batch 1,8
      benanza bounds
    """


for command in (
    inspect,
    run,
    bounds,
    explain,
    what_if,
    history,
    layers,
    spec,
    witness,
    profile,
    gate,
    evaluate,
    trace,
    advise,
    questions,
    generation,
    report,
    import_recordings,
    export,
    publish,
    suite,
    tasks,
    solve,
    status,
    dead_letters,
    replay,
    retry,
    prune,
    topics,
    serve,
    agents,
    evaluations,
    seed_known_layers,
    check_config,
    zoo,
    completion,
):
    cli.add_command(command)


def main() -> None:
    """The `benanza` program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name that the terminal's encoding lacks is printed escaped.
            stream.reconfigure(errors="backslashreplace")
    cli()
