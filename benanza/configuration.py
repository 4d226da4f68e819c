"""`check-config`: every setting, where it comes from, and whether what it names answers."""

import tempfile
from collections.abc import Callable

from benanza.render.units import plural
from benanza.results import Check, ConfigReport, Setting
from benanza.runtimes import open_runtime
from benanza_backbone.clickhouse import connected, errors_mended, parse_address
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings


def check(settings: Settings) -> ConfigReport:
    """Tries out the data folder, ClickHouse and the runtimes. Creates the folders it tries."""
    return ConfigReport(
        settings=tuple(
            Setting(
                name=setting.variable,
                value=setting.value,
                source=setting.source,
                description=setting.description,
            )
            for setting in settings.listed
        ),
        unknown=settings.unknown,
        checks=(
            _check("data folder", lambda: _data_folder(settings)),
            _check("ClickHouse", lambda: _clickhouse(settings)),
            _check("runtime", lambda: _runtime(settings)),
        ),
    )


def _check(name: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check(name=name, ok=True, detail=attempt())
    except BenanzaError as error:
        return Check(name=name, ok=False, detail=str(error))


def _data_folder(settings: Settings) -> str:
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.data) as file:
            file.write(b"benanza")
    except OSError as error:
        raise BenanzaError(
            f"can't write to {settings.data} ({error.strerror}); make it writable, or name "
            "another folder with BENANZA_DATA"
        ) from error
    return f"{settings.data} is writable"


def _clickhouse(settings: Settings) -> str:
    address = parse_address(settings.clickhouse)
    with connected(address) as client, errors_mended(address):
        version = client.command("SELECT version()")
    where = "in this process, over" if address.folder else "at"
    return f"ClickHouse {version} answers {where} {address.shown}"


def _runtime(settings: Settings) -> str:
    with open_runtime("auto", settings) as runtime:
        system = runtime.system()
    where = system.accelerator or system.cpu
    return f"{system.runtime} answers on {where}, {plural(system.threads, 'thread')}"
