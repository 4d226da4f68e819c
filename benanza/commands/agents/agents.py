"""`benanza agents`: who evaluates models for others."""

import sys

import click

from benanza.commands.options import Format, format_option, print_json
from benanza.commands.startup import settings_of
from benanza.render.answers.agents import print_agents
from benanza.render.table import console


@click.command()
@format_option
def agents(*, output: Format) -> None:
    """Who evaluates models for others, and with what.

    Device, frameworks and free memory of each agent; those too that are gone, for an hour. Needs
    BENANZA_KAFKA. benanza serve agent starts one.

    \b
    Examples:
      benanza agents
      benanza agents --format json
    """
    from benanza.agents.progress import agents as find_agents
    from benanza.installation.configured import configured_log
    from benanza_backbone.settings import kafka_of

    settings = settings_of(None)
    kafka_of(settings)
    with configured_log(settings) as log:
        found = find_agents(log)
    if output == "json":
        print_json(found)
    else:
        print_agents(console(sys.stdout), found)
