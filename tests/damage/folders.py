"""The folders that are damaged, and what a user is told of them."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benanza.installation.configured import known_store
from benanza_backbone.clickhouse.rows import TABLES
from benanza_backbone.settings import load
from tests.benanza.embedded_run import run_embedded

ROWS = " UNION ALL ".join(
    f"SELECT '{table}' AS t, count() AS n FROM {table} FINAL" for table in TABLES
)


class Folders(NamedTuple):
    """Data folders: `good`; an `older` copy of it; one of the same content, of whose process only
    the disk is left (`crashed`); and that of `other` models."""

    good: Path
    older: Path
    crashed: Path
    other: Path


def folders_in(root: Path) -> Folders:
    """Where they are."""
    return Folders(*(root / name for name in Folders._fields))


def make_folders(root: Path, models: Sequence[str]) -> None:
    """Runs the first model, all but the last, and in a folder of its own the last one."""
    folders = folders_in(root)
    run_embedded(models[:1], folders.good)
    shutil.copytree(folders.good, folders.older, symlinks=True)
    run_embedded(models[1:-1], folders.good)
    with known_store(load({"BENANZA_DATA": str(folders.good)})):
        shutil.copytree(folders.good, folders.crashed, symlinks=True)
    run_embedded(models[-1:], folders.other)


def answers(folder: Path) -> str:
    """All bounds, and how many rows each table has."""
    with known_store(load({"BENANZA_DATA": str(folder)})) as store:
        rows = sorted((row["t"], row["n"]) for row in store.query(ROWS))
        return repr((sorted(map(repr, store.bounds())), rows))
