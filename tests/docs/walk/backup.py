"""docs/deploying.md: ClickHouse's backups, with the services of this machine for containers."""

import json
import shutil
from typing import Any

from benanza_backbone.clickhouse.store import Store
from tests.benanza.processes import until
from tests.docs.blocks import block, line
from tests.docs.walk.clone import FreshClone
from tests.docs.walk.services import PAGE as SERVICES_PAGE
from tests.docs.walk.shell import Shell

PAGE = "deploying.md"

DOCKER = """
docker() {
    case "$*" in
    "compose stop analyzer") kill %?analyzer && wait %?analyzer ;;
    "compose start analyzer") ANALYZER ;;
    "compose exec -T clickhouse "*) shift 4 && "$@" ;;
    "compose cp clickhouse:/var/lib/"*) cp -r "data/${3#*/lib/}" "$4" ;;
    *) echo "no container for: $*" >&2; return 1 ;;
    esac
}
"""
"""Of Docker what the blocks say."""

TABLES = "SELECT name FROM system.tables WHERE database = 'benanza' AND engine NOT LIKE '%View'"


WHEN_STORED = ("architectures", "models", "sink_offsets", "stored_bounds")
"""The tables that say so, in `stored_at`."""

Content = dict[str, Any]


class Backup:
    """The backup `monday`, made as the page says, and what ClickHouse held then."""

    def __init__(self, clone: FreshClone, shell: Shell, store: Store) -> None:
        self._folder = clone.folder
        self._shell = shell
        self._store = store
        analyzer = clone.here(line(SERVICES_PAGE, "serve analyzer"))
        shell.run(DOCKER.replace("ANALYZER", f"{analyzer} true"))
        wait_until_idle(shell)
        self._saved = self._content()
        shell.run(block(PAGE, "clickhouse()"))

    def check(self) -> None:
        """An increment is made, both are restored, and the sink goes on from the first."""
        wait_until_idle(self._shell)
        self._shell.run("docker compose stop analyzer")
        self._shell.run(block(PAGE, 'echo "BACKUP'))
        increased = self._content()
        assert increased != self._saved
        restore = block(PAGE, 'echo "DROP')
        self._shell.run(restore)
        assert self._content() == increased
        monday = self._folder / "data" / "clickhouse" / "backups" / "monday"
        shutil.rmtree(monday)
        shutil.copytree(self._folder / "backup" / "monday", monday)
        self._shell.run(restore.replace("tuesday", "monday"))
        assert self._content() == self._saved
        self._shell.run("docker compose start analyzer")
        until(lambda: _without_time(self._content()) == _without_time(increased))

    def _content(self) -> Content:
        """The rows of each table, and what the store answers."""
        tables = sorted(row["name"] for row in self._store.query(TABLES))
        assert len(tables) > 10
        return {
            "rows": {t: self._store.query(f"SELECT * FROM {t} FINAL ORDER BY ALL") for t in tables},
            "bounds": self._store.bounds(),
            "offsets": self._store.offsets("store"),
        }


def wait_until_idle(shell: Shell) -> None:
    """Until all layers are measured, and every record is processed."""

    def idle() -> bool:
        status = json.loads(shell.run("benanza status --format json"))
        return not any(each["waiting"] for each in (*status["runners"], *status["services"]))

    until(idle)


def _without_time(content: Content) -> Content:
    rows = {table: [dict(row) for row in found] for table, found in content["rows"].items()}
    for table in WHEN_STORED:
        for row in rows[table]:
            row.pop("stored_at")
    return content | {"rows": rows}
