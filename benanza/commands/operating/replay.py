"""`benanza replay`: a service reads again."""

import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benanza.commands.options import Format, Time, data_option, format_option, print_json
from benanza.commands.startup import settings_of
from benanza.render.replay import print_replay
from benanza.render.table import console
from benanza.services import SERVICES
from benanza_backbone.clock import now
from benanza_backbone.event_log.event_log import Partition

if TYPE_CHECKING:
    from benanza.operating.replay import Origin

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class From(click.ParamType):
    """`start`, a time, a time ago, or the offset of a partition."""

    name = "start|TIME|TOPIC:PARTITION:OFFSET"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> "Origin":
        """`2h` as the time two hours ago, `jobs:3:120` as that place, `start` as None."""
        from benanza.operating.replay import Place

        if value == "start":
            return None
        if ago := re.fullmatch(r"([0-9]{1,5})([smhd])", value):
            return now() - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        if place := re.fullmatch(r"([a-z-]+):([0-9]{1,9}):([0-9]{1,18})", value):
            return Place(Partition(place[1], int(place[2])), int(place[3]))
        try:
            return Time().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(
                f"{value!r} is neither start, nor a time such as 2026-11-21T12:00+01:00 or 2h "
                "(ago), nor TOPIC:PARTITION:OFFSET such as jobs:3:120",
                param,
                ctx,
            )


@click.command()
@click.option("--service", type=click.Choice(list(SERVICES)), required=True)
@click.option("--from", "origin", type=From(), required=True, help="Where it goes on.")
@click.option("--group", help="Which runner: runner.SYSTEM.PRECISION; an error lists them.")
@data_option
@format_option
def replay(
    *,
    service: str,
    origin: "Origin",
    group: str | None,
    data: Path | None,
    output: Format,
) -> None:
    """Has a service read again what it has read before.

    Stop the service first, and start it when this is done. A time or `start` only moves it
    back; an offset may also skip. What it does again has the same ids, and counts once.

    \b
    Examples:
      benanza replay --service ingest --from 2h
      benanza replay --service analyzer --from start
      benanza replay --service runner --group runner.SYSTEM.fp32 --from jobs:3:120
    """
    from benanza.operating.replay import replay as replay_service

    done = replay_service(settings_of(data), service, origin, group)
    if output == "json":
        print_json(done)
    else:
        print_replay(console(sys.stdout), done)
