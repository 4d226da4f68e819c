"""Brings the tables of the store up to date, by numbered SQL files.

The files `benanza_schemas/clickhouse/NNNN_name.sql` are run in order, each once. The table
`schema_migrations` records which were run, with a checksum of each. A file is never edited: a
change is a new file. Every statement can be run again without harm, since a file that was
interrupted is run again from its start.
"""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from benanza_backbone.errors import BenanzaError

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_MIGRATIONS_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations
(
    version     UInt32                COMMENT 'Number of the migration',
    name        String                COMMENT 'Name of its file',
    checksum    String                COMMENT 'SHA-256 of the file, in hexadecimal',
    applied_at  DateTime64(6, 'UTC')  DEFAULT now64(6, 'UTC') COMMENT 'When it was run'
)
ENGINE = ReplacingMergeTree
ORDER BY version
COMMENT 'Migrations that were run'
"""

_FILE_NAME = re.compile(r"(\d{4})_\w+\.sql")

_TOKEN = re.compile(
    r"""
      (?P<end> ; )
    | (?P<comment> --[^\n]* | /\*.*?\*/ )
    | (?P<text> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`\\]|\\.)*` )
    | (?P<open> ['"`] | /\* )
    | (?P<other> [^;'"`/-]+ | . )
    """,
    re.DOTALL | re.VERBOSE,
)


class Migration(msgspec.Struct, frozen=True):
    """A file of SQL statements. `name` is the name of the file, `version` its number."""

    version: int
    name: str
    sql: str

    def checksum(self) -> str:
        """SHA-256 of the SQL, in hexadecimal."""
        return sha256(self.sql.encode()).hexdigest()


def shipped() -> list[Migration]:
    """The migrations of this version of benanza, in order.

    Raises `ValueError` unless they are numbered 1, 2, 3, …
    """
    migrations = []
    for file in files("benanza_schemas").joinpath("clickhouse").iterdir():
        if match := _FILE_NAME.fullmatch(file.name):
            migrations.append(Migration(int(match[1]), file.name, file.read_text("utf-8")))
    migrations.sort(key=lambda migration: migration.version)
    if [migration.version for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise ValueError(f"migrations are numbered with gaps: {[m.name for m in migrations]}")
    return migrations


def migrate(
    client: "Client", migrations: Sequence[Migration], lock: AbstractContextManager[None]
) -> None:
    """Runs the migrations that the client's database lacks, in order, while holding `lock`.

    If it lacks none, the lock isn't acquired. Raises `BenanzaError` if a migration was edited after
    it was run, or if the database was made by a newer version of benanza or before the first
    release.
    """
    client.command(_MIGRATIONS_TABLE)
    if not _pending(client, migrations):
        return
    with lock:
        for migration in _pending(client, migrations):
            for statement in statements(migration.sql):
                client.command(statement)
            client.command(
                "INSERT INTO schema_migrations (version, name, checksum) "
                "VALUES ({version:UInt32}, {name:String}, {checksum:String})",
                parameters={
                    "version": migration.version,
                    "name": migration.name,
                    "checksum": migration.checksum(),
                },
            )


def lacking(client: "Client", migrations: Sequence[Migration]) -> list[Migration]:
    """The migrations that the client's database lacks, in order; none is run.

    Raises `BenanzaError` as `migrate` does.
    """
    if not client.command("EXISTS TABLE schema_migrations"):
        return list(migrations)
    return _pending(client, migrations)


def statements(sql: str) -> list[str]:
    """The statements of a file, without comments, as the engine runs one at a time.

    A semicolon ends a statement unless it is in quotes or in a comment. Raises `ValueError` if a
    quote or a comment isn't closed.
    """
    parts: list[str] = []
    statement = ""
    for token in _TOKEN.finditer(sql):
        match token.lastgroup:
            case "end":
                parts.append(statement)
                statement = ""
            case "comment":
                statement += " "
            case "open":
                line = sql.count("\n", 0, token.start()) + 1
                raise ValueError(f"what {token[0]} opens in line {line} isn't closed")
            case _:
                statement += token[0]
    parts.append(statement)
    return [statement.strip() for statement in parts if statement.strip()]


def _pending(client: "Client", migrations: Sequence[Migration]) -> list[Migration]:
    applied = client.query(
        "SELECT version, name, checksum FROM schema_migrations FINAL ORDER BY version"
    )
    known = {migration.version: migration for migration in migrations}
    done = set()
    for version, name, checksum in applied.result_rows:
        if version in known and name != known[version].name:
            raise BenanzaError(
                f"the store was made before the first release of benanza (by migration {name}) "
                "and can't be brought up to date; make it anew: delete its folder (clickhouse "
                f"under BENANZA_DATA), or on a server say DROP DATABASE {client.database}; the "
                "next start fills it from the event log"
            )
        if version not in known:
            raise BenanzaError(
                f"the store was made by a newer version of benanza (it has migration {name}); "
                "upgrade benanza, or use another store"
            )
        if checksum != known[version].checksum():
            raise BenanzaError(
                f"migration {name} was run on the store and has been changed since; bring the "
                "file back as it was, by installing benanza anew, and put the change into a "
                "new migration"
            )
        done.add(version)
    return [migration for migration in migrations if migration.version not in done]
