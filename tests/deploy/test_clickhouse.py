"""ClickHouse's backups and retention: the statements of docs/deploying.md, run by the engine.

tests/docs/walk restores backups.
"""

import os
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from benanza.installation.embedded import fill
from benanza.running.progress import Silent
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from benanza_schemas.events import AnyEvent
from tests.backbone.clickhouse.clickhouse_client import say
from tests.backbone.sample_events import (
    BOUNDS,
    CONV_ID,
    DEAD,
    EVERY_KIND,
    bound,
    measured,
    variant,
)
from tests.benanza.processes import Process
from tests.deploy.compose import ROOT, SERVICES

TEXT = (ROOT / "docs" / "deploying.md").read_text("utf-8")
BACKUP, INCREMENT = re.findall(r'^echo "(BACKUP .*)" \| clickhouse$', TEXT, re.M)
(RETENTION,) = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)

USER, PASSWORD = "benanza", "secret"
YEARS = timedelta(days=800)
DAY = timedelta(days=1)


class Server:
    """The engine behind HTTP, which may write backups into a folder."""

    def __init__(self, process: Process) -> None:
        self._address = f"127.0.0.1:{process.first_line}"
        self.dsn = f"clickhouse://{USER}:{PASSWORD}@{self._address}?compress=false"

    def say(self, sql: str, database: str = "default") -> None:
        """Runs the statements, as `clickhouse client` does."""
        say(self._address, USER, PASSWORD, sql, database)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "backups").mkdir()
    folder = f"{tmp_path}/clickhouse?backups.allowed_path={tmp_path}/backups"
    command = [sys.executable, "-m", "tests.backbone.clickhouse.clickhouse_server"]
    with Process([*command, folder, USER, PASSWORD], dict(os.environ), tmp_path) as process:
        yield Server(process)


def _store(server: Server, log: SqliteEventLog, events: list[AnyEvent]) -> None:
    log.append([as_message(event) for event in events])
    with Store.open(server.dsn) as store:
        fill(store, log, Silent())


@pytest.mark.integration
def test_an_increment_has_only_what_is_new(server: Server, tmp_path: Path) -> None:
    with SqliteEventLog(tmp_path / "events.sqlite") as log:
        _store(server, log, list(EVERY_KIND))
    server.say(BACKUP)
    server.say(INCREMENT)
    sizes = {
        name: sum(f.stat().st_size for f in (tmp_path / "backups" / name).rglob("*.bin"))
        for name in ("monday", "tuesday")
    }
    assert sizes["tuesday"] < sizes["monday"] / 10


@pytest.mark.integration
def test_what_is_kept_for_less_long_moves_no_bound(server: Server) -> None:
    moment = datetime.now(UTC)
    versions = [
        msgspec.structs.replace(
            bound(cause=CONV_ID, at=0, sequential_us=us, fusion=fusion), computed_at=moment - ago
        )
        for us, fusion, ago in (
            (4.0, False, 2 * YEARS),
            (3.0, False, YEARS),
            (2.0, False, DAY),
            (1.0, False, DAY / 2),
            (9.0, True, 2 * YEARS),
            (8.0, True, YEARS),  # old, and the newest
        )
    ]
    slow = [
        msgspec.structs.replace(measured(CONV_ID, variant("slow", us), at=0), measured_at=then)
        for us, then in ((90.0, moment - YEARS), (80.0, moment - DAY))
    ]
    dead = [
        msgspec.structs.replace(DEAD, event_id=letter * 32, failed_at=then)
        for letter, then in (("0", moment - YEARS), ("1", moment - DAY))
    ]
    with Store.open(server.dsn) as store:
        store.insert([*(each for each in EVERY_KIND if each not in BOUNDS), *slow, *dead])
        store.insert(versions)
        bounds = store.bounds()
        assert {each.sequential_us for each in bounds} == {1.0, 8.0}
        server.say(RETENTION, "benanza")
        for table in ("measurements", "dead_letters"):
            server.say(f"OPTIMIZE TABLE {table} FINAL", "benanza")
        samples = "SELECT median_us, empty(samples_us) AS gone FROM measurements FINAL"
        gone = {row["median_us"]: row["gone"] for row in store.query(samples)}
        assert (gone[90.0], gone[80.0]) == (True, False)
        letters = {row["dead_letter_id"] for row in store.query("SELECT * FROM dead_letters")}
        assert "1" * 32 in letters
        assert "0" * 32 not in letters
        assert store.bounds() == bounds
        left = store.query("SELECT sequential_us FROM architecture_bounds FINAL")
        assert sorted(row["sequential_us"] for row in left) == [1.0, 2.0, 8.0]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Server]:
    """The engine, whose user has the limits of `reader`."""
    profile = ET.parse(ROOT / "deploy/clickhouse/reader.xml").find("profiles/reader")
    assert profile is not None
    profile.tag = "default"
    users = f"""<clickhouse><profiles>{ET.tostring(profile, "unicode")}</profiles>
        <users><default><password/><profile>default</profile><quota>default</quota></default></users>
        <quotas><default/></quotas></clickhouse>"""
    (tmp_path / "users.xml").write_text(users)
    (tmp_path / "config.xml").write_text(
        f"<clickhouse><users_config>{tmp_path}/users.xml</users_config></clickhouse>"
    )
    folder = f"{tmp_path}/clickhouse?config-file={tmp_path}/config.xml"
    command = [sys.executable, "-m", "tests.backbone.clickhouse.clickhouse_server"]
    with Process([*command, folder, USER, PASSWORD], dict(os.environ), tmp_path) as process:
        yield Server(process)


@pytest.mark.integration
def test_who_only_reads_has_limits_and_cannot_raise_them(reader: Server) -> None:
    for limit, allowed in (
        ("max_execution_time", 65),
        ("max_memory_usage", 10**8),
        ("max_result_rows", 10),
        ("max_result_bytes", 1000),
    ):
        reader.say(f"SELECT 1 SETTINGS {limit} = {allowed}")
        for refused in (0, 10**10):
            with pytest.raises(AssertionError, match=f"Setting {limit} shouldn't be"):
                reader.say(f"SELECT 1 SETTINGS {limit} = {refused}")
    with pytest.raises(AssertionError, match="Cannot modify 'readonly' setting in readonly mode"):
        reader.say("SET readonly = 0")
    with pytest.raises(AssertionError, match="in readonly mode"):
        reader.say("CREATE TABLE t (n UInt8) ENGINE = Memory")
    with pytest.raises(AssertionError, match="Limit for result exceeded"):
        reader.say("SELECT * FROM numbers(1000001)")
    with pytest.raises(AssertionError, match="MEMORY_LIMIT_EXCEEDED"):
        reader.say("SELECT length(groupArray(number)) FROM numbers(1000000000)")


def test_what_clickhouse_is_told_is_mounted_and_keeps_to_its_own_folder() -> None:
    files = sorted((ROOT / "deploy" / "clickhouse").glob("*.xml"))
    mounted = " ".join(SERVICES["clickhouse"]["volumes"])
    for file in files:
        ET.parse(file)
        assert f"./deploy/clickhouse/{file.name}:/etc/clickhouse-server/" in mounted
    allowed = ET.parse(ROOT / "deploy/clickhouse/backups.xml").findtext("backups/allowed_path")
    assert allowed == "/var/lib/clickhouse/backups"
    assert f"clickhouse:{allowed}/monday" in TEXT


def test_every_note_of_clickhouse_itself_has_its_end() -> None:
    root = ET.parse(ROOT / "deploy/clickhouse/retention.xml").getroot()
    assert {log.tag for log in root} >= {"query_log", "trace_log", "metric_log"}
    assert {log.findtext("ttl") for log in root} == {"event_date + INTERVAL 30 DAY DELETE"}
    assert "30 days, by `deploy/clickhouse/retention.xml`" in TEXT
