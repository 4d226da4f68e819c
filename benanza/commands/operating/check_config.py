"""`benanza check-config`: every setting, and whether what it names answers."""

import sys

import click

from benanza.commands.options import FAILED, Format, format_option, print_json
from benanza.commands.startup import settings_of
from benanza.render.check_config import print_config
from benanza.render.table import console


@click.command("check-config")
@format_option
@click.pass_context
def check_config(ctx: click.Context, output: Format) -> None:
    """Every setting, and whether what it names answers.

    Exit status 1 if something does not answer.

    \b
    Examples:
      benanza check-config
      BENANZA_CLICKHOUSE=clickhouse://localhost:8123 benanza check-config --format json
    """
    from benanza.operating.check_config import check

    report = check(settings_of(None))
    if output == "json":
        print_json(report)
    else:
        print_config(console(sys.stdout), report)
    if not all(checked.ok for checked in report.checks):
        ctx.exit(FAILED)
