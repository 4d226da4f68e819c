"""What tests of the backbone share."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benanza_backbone.clickhouse.connection import parse_address
from benanza_backbone.clickhouse.store import Store
from tests.shared import copied, made_once

_opened: Any = Store.open


def copy_empty_store(folder: Path) -> str:
    """The address of a new store in the folder. To copy its tables takes a fifth of the time that
    it takes to make them.
    """
    empty = made_once("empty-store", lambda made: _opened(f"chdb://{made}/store").close())
    copied(empty / "store", folder)
    return f"chdb://{folder}"


@contextmanager
def new_stores_copied() -> Iterator[None]:
    """Whoever opens a store in this process, in a folder that isn't there, opens such a copy."""

    def opened(cls: type[Store], dsn: str, *, migrates: bool = True) -> Store:
        folder = parse_address(dsn).folder
        # Where there is no folder to put it in, opening says so.
        if migrates and folder and not folder.exists() and os.access(folder.parent, os.W_OK):
            copy_empty_store(folder)
        store: Store = _opened.__func__(cls, dsn, migrates=migrates)
        return store

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "open", classmethod(opened))
        yield


@contextmanager
def engine_open(folder: Path) -> Iterator[None]:
    """Has the engine open over the store in this folder. Whoever opens the same store meanwhile,
    in this process, does so in a seventh of the time.
    """
    with Store.open(f"chdb://{folder}"):
        yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store on the real engine, embedded."""
    with Store.open(copy_empty_store(tmp_path / "store")) as store:
        yield store
