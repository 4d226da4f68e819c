"""`benanza serve weights`: the store of weights of this machine."""

import pwd
import re
from pathlib import Path
from typing import Any

import click

from benanza.commands.startup import service_settings

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


class Bytes(click.ParamType):
    """A size such as 16GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """`16GB` as 16,000,000,000."""
        found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?B)?", str(value), re.IGNORECASE)
        size = int(float(found[1]) * _UNITS[(found[2] or "").upper()]) if found else 0
        if size < 1:
            self.fail(f"{value!r} is no size such as 500MB or 16GB", param, ctx)
        return size


class UserId(click.ParamType):
    """A user of this machine."""

    name = "user"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """A number as it is, a name as the number of its user."""
        if isinstance(value, int) or str(value).isdecimal():
            return int(value)
        try:
            return pwd.getpwnam(value).pw_uid
        except KeyError:
            self.fail(f"there is no user {value!r} here", param, ctx)


@click.command()
@click.option(
    "--socket",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where tenants ask; without it weights.sock in the data folder.",
)
@click.option(
    "--memory",
    type=Bytes(),
    help="The most shared memory to hold weights in; without it half of the machine's.",
)
@click.option(
    "--disk",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also keep copies in this folder.",
)
@click.option(
    "--disk-limit", type=Bytes(), default="100GB", help="The most of these.", show_default=True
)
@click.option("--gpu-memory", type=Bytes(), help="Also keep copies on GPUs, of so much on each.")
@click.option(
    "--allow",
    "users",
    type=UserId(),
    multiple=True,
    metavar="USER",
    help="Another user who may ask, by name or number, if the socket's folder is open to that "
    "user. May be repeated.",
)
@click.pass_context
def weights(
    ctx: click.Context,
    *,
    socket: Path | None,
    memory: int | None,
    disk: Path | None,
    disk_limit: int,
    gpu_memory: int | None,
    users: tuple[int, ...],
) -> None:
    """Weights of models, one copy for all processes of this machine.

    Who leases weights gets them mapped into memory, for reading; `benanza_backbone.weights.lease`
    does that in Python. What isn't leased is given up when room lacks: first what costs least by
    the byte to bring back. Models at addresses are fetched from where BENANZA_MODEL_SOURCES says.
    Needs no Kafka.

    \b
    Examples:
      benanza serve weights
      benanza serve weights --memory 16GB --disk /var/cache/weights
      benanza serve weights --socket /srv/weights/socket --allow www-data
    """
    from benanza.weights.serve import StoreRequest, serve_weights

    settings = service_settings()
    request = StoreRequest(
        socket=socket or settings.data / "weights.sock",
        memory_bytes=memory,
        disk=disk,
        disk_bytes=disk_limit,
        users=users,
        gpu_bytes=gpu_memory,
    )

    def started(address: str) -> None:
        click.echo(f"serving weights: {request.socket}, {address}")

    ctx.exit(serve_weights(request, settings, started))
