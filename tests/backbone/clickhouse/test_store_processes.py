"""A folder belongs to one process at a time, and a killed one loses nothing acknowledged."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from tests.backbone.clickhouse.store_worker import BATCH, numbered

pytestmark = pytest.mark.integration

WORKER = [sys.executable, "-m", "tests.backbone.clickhouse.store_worker"]


@contextmanager
def worker(folder: Path, *first: int) -> Iterator[subprocess.Popen[str]]:
    """A process that has the folder open; killed at the end of the block."""
    command = [*WORKER, str(folder), *map(str, first)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "open\n"
            yield process
        finally:
            process.kill()


def test_the_second_process_is_told_which_one_has_the_folder(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path}/store"
    with worker(tmp_path / "store") as process:
        started = time.monotonic()
        with pytest.raises(BenanzaError, match=f"in use by process {process.pid};.*BENANZA_DATA"):
            Store.open(dsn)
        assert time.monotonic() - started < 60
    assert process.returncode == -signal.SIGKILL
    with Store.open(dsn) as store:
        assert store.bounds() == []


def test_a_process_may_open_its_folder_again_and_keeps_it_until_all_are_closed(
    tmp_path: Path,
) -> None:
    first = Store.open(f"chdb://{tmp_path}/store")
    second = Store.open(f"chdb://{tmp_path}/store")
    first.insert([numbered(0)])
    first.close()
    first.close()
    assert len(second.query("SELECT * FROM measurements FINAL")) == 2
    command = [*WORKER, str(tmp_path / "store")]
    other = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert "BenanzaError" in other.stderr
    assert "in use by process" in other.stderr
    second.close()
    with worker(tmp_path / "store"):
        pass


def test_kill_9_amid_inserts_loses_nothing_acknowledged(tmp_path: Path) -> None:
    rng = random.Random(9)
    acknowledged = 0
    for _ in range(3):
        with worker(tmp_path / "store", acknowledged) as process:
            assert process.stdout
            # The first insert takes longest; from then on, die at any moment.
            acknowledged = int(process.stdout.readline())
            time.sleep(rng.uniform(0, 0.3))
            process.kill()
            for line in process.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line)
    with Store.open(f"chdb://{tmp_path}/store") as store:
        known = {row["fingerprint"] for row in store.query("SELECT fingerprint FROM measurements")}
        assert acknowledged > 3 * BATCH
        assert known >= {numbered(n).fingerprint for n in range(acknowledged)}
        # The kill may have come between an insert and its acknowledgement.
        assert len(known) - acknowledged in (0, BATCH)
        rows = store.query(
            "SELECT fingerprint, groupArray(median_us) AS medians FROM "
            "(SELECT * FROM measurements FINAL ORDER BY variant) GROUP BY fingerprint"
        )
        medians = {row["fingerprint"]: row["medians"] for row in rows}
        for n in range(acknowledged):
            assert medians[numbered(n).fingerprint] == [n + 1.0, 2.0]


def test_importing_the_store_brings_no_engine_along() -> None:
    code = (
        "import sys, benanza_backbone.clickhouse.store;"
        "sys.exit(' '.join({'chdb', 'clickhouse_connect', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "\n")
