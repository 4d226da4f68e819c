"""docs/without-docker.md: the services are started, stopped, and restored from a backup."""

import re
import shutil
from collections.abc import Sequence

from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from tests.docs.blocks import block
from tests.docs.walk.clone import FreshClone
from tests.docs.walk.shell import Shell

PAGE = "without-docker.md"
LOOK = block(PAGE, "benanza bounds").strip()
SERVICES = ("ingest", "dedupe", "runner", "analyzer")


def start(clone: FreshClone, shell: Shell) -> None:
    """Until the services work on the model that the page publishes."""
    shell.run(clone.here(block(PAGE, "make kafka")))


def wait(shell: Shell) -> None:
    """Until the model has its bounds."""
    shell.run(f"until {LOOK} | grep --word-regexp full; do sleep 5; done")
    said = shell.said()
    for service in SERVICES:
        assert f"serving {service}:" in said, said
    assert re.search(r"^squeezenet +1 .* full *$", said, re.MULTILINE), said


def allow_models(clone: FreshClone, shell: Shell) -> None:
    """Ingest fetches from the folder `models`."""
    shell.run(clone.here(block(PAGE, "kill %?ingest")))


def stop(shell: Shell) -> None:
    """All of it."""
    shell.run(block(PAGE, "services="))
    assert "Traceback" not in shell.said(), shell.said()


def store(clone: FreshClone) -> Store:
    """ClickHouse, to be asked."""
    dsn = f"clickhouse://default@127.0.0.1:{clone.ports[8123]}/benanza?compress=false"
    return Store.open(dsn, migrates=False)


def restore(clone: FreshClone, before: Sequence[ModelBound]) -> None:
    """What is stopped is packed, lost, and unpacked: the bounds of `before` are there again."""
    with clone.shell() as shell:
        shell.run(block(PAGE, "tar --create"))
        for lost in ("kafka", "clickhouse"):
            shutil.rmtree(clone.folder / "data" / lost)
        shell.run(block(PAGE, "tar --extract"))
        start(clone, shell)
        wait(shell)
        with store(clone) as restored:
            assert restored.bounds() == before
        stop(shell)
