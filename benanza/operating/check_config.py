"""`check-config`: every setting, where it comes from, and whether what it names answers."""

import os
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from benanza.render.units import plural
from benanza.results.check_config import ConfigCheck, ConfigReport
from benanza_backbone.clickhouse.connection import (
    connected,
    errors_mended,
    has_engine,
    parse_address,
)
from benanza_backbone.clickhouse.migrations import lacking, shipped
from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.model_sources import BucketSource, FolderSource
from benanza_backbone.settings import Settings
from benanza_ingest.reading.object_store import check_bucket
from benanza_runner.cpu_libraries.installed import not_installed
from benanza_runner.runtimes import open_runtime

TIMEOUT_S = 5.0
"""How long a server may take to answer."""


class _NotInstalledError(BenanzaError):
    """A package isn't there, which some services do without."""


def check(settings: Settings) -> ConfigReport:
    """Tries out the data folder, Kafka if it is named, ClickHouse and the runtimes.

    Creates the folders and the database that it tries, and nothing else. Over Kafka, a service
    has only the packages that it needs, so one that isn't installed is no failure then.
    """
    attempts = {"data folder": lambda: _data_folder(settings)}
    if settings.kafka is not None:
        kafka = settings.kafka
        attempts["Kafka"] = lambda: _kafka(kafka)
    folders = [
        source.folder for source in settings.model_sources if isinstance(source, FolderSource)
    ]
    if folders:
        attempts["model sources"] = lambda: _model_folders(folders)
    places = (*settings.model_sources, settings.model_uploads)
    buckets = {place.bucket for place in places if isinstance(place, BucketSource)}
    if buckets:
        attempts["object store"] = lambda: _buckets(buckets)
    attempts["ClickHouse"] = lambda: _clickhouse(settings)
    attempts["runtime"] = lambda: _runtime(settings)
    over_kafka = settings.kafka is not None
    checks = [_check(name, attempt, over_kafka) for name, attempt in attempts.items()]
    return ConfigReport(
        settings=settings.listed,
        unknown=settings.unknown,
        checks=tuple(checks),
    )


def _check(name: str, attempt: Callable[[], str], over_kafka: bool) -> ConfigCheck:
    try:
        return ConfigCheck(name=name, ok=True, detail=attempt())
    except _NotInstalledError as error:
        return ConfigCheck(name=name, ok=over_kafka, detail=str(error))
    except BenanzaError as error:
        return ConfigCheck(name=name, ok=False, detail=str(error))


def _data_folder(settings: Settings) -> str:
    try:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=settings.data) as file:
            file.write(b"benanza")
    except OSError as error:
        raise BenanzaError(
            f"can't write to {settings.data} ({error.strerror}); make it writable, or name "
            "another folder with BENANZA_DATA"
        ) from error
    return f"{settings.data} is writable"


def _kafka(connection: KafkaConnection) -> str:
    # kafka-python takes a while to import, and the embedded mode does without it.
    from benanza.operating.kafka_check import check_kafka

    return check_kafka(connection)


def _model_folders(folders: list[Path]) -> str:
    for folder in folders:
        if not folder.is_dir() or not os.access(folder, os.R_OK | os.X_OK):
            raise BenanzaError(
                f"BENANZA_MODEL_SOURCES names {folder}, which is no folder that can be read here; "
                "mount it, or take it out"
            )
    return f"{plural(len(folders), 'folder')} of models can be read"


def _buckets(buckets: set[str]) -> str:
    for bucket in sorted(buckets):
        check_bucket(bucket)
    return f"{plural(len(buckets), 'bucket')} of models can be used"


def _clickhouse(settings: Settings) -> str:
    address = parse_address(settings.clickhouse)
    if address.folder and not has_engine():
        raise _NotInstalledError(
            "chdb is not installed here, and BENANZA_CLICKHOUSE names no server: what is known is "
            "read from the event log, and SQL can't be asked; say: pip install 'benanza[sql]'"
        )
    with connected(address, TIMEOUT_S) as client, errors_mended(address):
        version = client.command("SELECT version()")
        lacks = lacking(client, shipped())
    where = "in this process, over" if address.folder else "at"
    tables = (
        f"its tables lack {plural(len(lacks), 'migration')}, which the next start runs"
        if lacks
        else "its tables are up to date"
    )
    return f"ClickHouse {version} answers {where} {address.shown}; {tables}"


def _runtime(settings: Settings) -> str:
    if not find_spec("onnxruntime"):
        raise _NotInstalledError("onnxruntime is not installed here: nothing can be measured here")
    with open_runtime("auto", settings) as runtime:
        system = runtime.system()
    where = system.accelerator or system.cpu
    versions = ", ".join(f"{name} {version}" for name, version in system.libraries.items())
    said = f"{system.runtime} answers on {where}, {plural(system.threads, 'thread')}: {versions}"
    alone = system.accelerator or settings.cpu_libraries == "none"
    missing = () if alone else not_installed()
    return f"{said}; the extra cpu would bring {' and '.join(missing)}" if missing else said
