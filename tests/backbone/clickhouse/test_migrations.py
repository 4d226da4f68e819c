"""Migrations on the real engine, embedded."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.clickhouse.connection import connected, parse_address
from benanza_backbone.clickhouse.migrations import Migration, lacking, migrate, shipped, statements
from benanza_backbone.clickhouse.queries import WITHDRAW_MEASUREMENTS
from benanza_backbone.errors import BenanzaError

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

pytestmark = pytest.mark.integration

CHECKSUMS = {
    "0001_baseline.sql": "338434275f3099823f0885fd74c2b5ae6cf961a20e8aad36bc1b26bdc68f39b7",
    "0002_beaten_bounds.sql": "f38e4ce1c1d0d390a74c495d8dda9a25d93ccc4c21790ca163eb27eb3c90fdb6",
    "0003_right_witnesses.sql": "911d3652ace11c4115d0d5114e44a34c497715709b26450d4c33c5acebddf49a",
    "0004_right_runs.sql": "7d0778bf83ad779bc09661b40001e6029f8577ea22e3b2fa2bdac309422c6fb2",
    "0005_profiles.sql": "01481c29f49413147c1a7a0f1c522a80ebf402afdd4d20e556cffd774307e2ee",
    "0006_questions.sql": "c96e7a2d56b2e658935b57acd5a25c0af54d809836eabe1c7cd15bad8474cca5",
    "0007_runs.sql": "b664f7d5475a129b4cb1ecd2d061455ccbb3ae36a9f0a9b2be03f818bb0f9a0d",
    "0008_architectures.sql": "b9e453991b4b855f1091849051e9e162e2ee03dc6b11e5e6cd22cceef030ad12",
    "0009_networks.sql": "df01b98d10cca882f948b8b407dfcfb8239d9ecb334b43cf2574c8f2ee4d6741",
    "0010_recordings.sql": "789504779bf02c19b1ec9cc189c430e980c18ec33eb93c029c19ba62bf15afc7",
    "0011_merged_systems.sql": "216596c117581844f83306db35da2330a08dbae1e6200c559bc1503e5923a295",
    "0012_claims.sql": "7621c4fc73240fb41e68f0867521c8a4411e8d27c29f70a95bd6a0d749421d98",
    "0013_recorded_runs.sql": "1cbf937d4ad3f5ba1b2e8078a9638b427ddb42aad0368fe8e425383995bc7e89",
    "0014_integer_rates.sql": "fabdad6d43e5254d72b25c4e503a48dcade1a9a40701b6cdd4b24d7a0657322c",
    "0015_derived_models.sql": "eacb5b4c8a88b3b8929471a17eede1acd279c07a7aa76ac497ac31c6d9a726b9",
    "0016_speed_of_light.sql": "6f7dbcc0988768942d688daeecb8232bacfcad0722b7d850f049f98b8104409f",
    "0017_least_weights.sql": "49f72bfb36e45d33c2fc58f5a534a47d6331446252b0fa50885d5aedf6b7e59f",
    "0018_evaluations.sql": "d590a92051676f5da0bd8d2aafb56efc6bd7b79d19b096e0faf8f3d952de2206",
    "0019_submitted_rates.sql": "1dedbfdc79d7882fa6fe318aed41600961cdc7f82d705a21cca1d541904b2312",
    "0020_least_fixed.sql": "f18fc31556707b8c6464d9f22974ae2b4f43903d9d2656d5672584db1bd9acb0",
    "0021_stored_bounds.sql": "2d66c870baca458ae2e0a3537f7e04de6970f756e9e35226db459ad2fd3490be",
    "0022_right_figures.sql": "cd58265b60bf1d4b70963f0bde5d3448325dd2b35e750147b0116fd16ddf827a",
}
"""SHA-256 of each migration as it was released."""

FIRST = Migration(1, "0001_a.sql", "CREATE TABLE IF NOT EXISTS a (x Int8) ENGINE = Memory;")
SECOND = Migration(2, "0002_b.sql", "CREATE TABLE IF NOT EXISTS b (x Int8) ENGINE = Memory;")


@pytest.fixture
def client(tmp_path: Path) -> Iterator["Client"]:
    with connected(parse_address(f"chdb://{tmp_path}/store")) as client:
        yield client


def applied(client: "Client") -> list[tuple[int, str]]:
    rows = client.query("SELECT version, name FROM schema_migrations ORDER BY version").result_rows
    return [(version, name) for version, name in rows]


def tables(client: "Client") -> set[str]:
    return {name for (name,) in client.query("SHOW TABLES").result_rows}


def test_migrations_are_run_once_in_order_under_the_lock(client: "Client") -> None:
    events: list[str] = []

    @contextmanager
    def lock() -> Iterator[None]:
        events.append(f"taken over {sorted(tables(client))}")
        yield
        events.append(f"released with {sorted(tables(client))}")

    migrate(client, [FIRST], lock())
    migrate(client, [FIRST], lock())
    migrate(client, [FIRST, SECOND], lock())
    assert applied(client) == [(1, "0001_a.sql"), (2, "0002_b.sql")]
    assert events == [
        "taken over ['schema_migrations']",
        "released with ['a', 'schema_migrations']",
        "taken over ['a', 'schema_migrations']",
        "released with ['a', 'b', 'schema_migrations']",
    ]


def test_what_another_one_ran_while_we_waited_is_not_run_again(client: "Client") -> None:
    @contextmanager
    def lock() -> Iterator[None]:
        migrate(client, [FIRST], nullcontext())
        yield

    migrate(client, [FIRST], lock())
    assert applied(client) == [(1, "0001_a.sql")]


def test_what_is_lacking_is_told_and_not_run(client: "Client") -> None:
    assert lacking(client, [FIRST, SECOND]) == [FIRST, SECOND]
    assert tables(client) == set()
    migrate(client, [FIRST], nullcontext())
    assert lacking(client, [FIRST, SECOND]) == [SECOND]
    assert "b" not in tables(client)
    migrate(client, [FIRST, SECOND], nullcontext())
    assert lacking(client, [FIRST, SECOND]) == []
    with pytest.raises(BenanzaError, match="newer version"):
        lacking(client, [FIRST])


def test_a_migration_that_was_changed_after_it_was_run_is_an_error(client: "Client") -> None:
    migrate(client, [FIRST, SECOND], nullcontext())
    changed = Migration(1, "0001_a.sql", FIRST.sql.replace("Int8", "Int16"))
    with pytest.raises(BenanzaError, match=r"0001_a\.sql was run .* changed since; bring"):
        migrate(client, [changed, SECOND], nullcontext())


def test_a_database_of_a_newer_version_is_an_error(client: "Client") -> None:
    migrate(client, [FIRST, SECOND], nullcontext())
    with pytest.raises(BenanzaError, match=r"newer version .* 0002_b\.sql.*upgrade"):
        migrate(client, [FIRST], nullcontext())


def test_a_database_from_before_the_baseline_is_an_error_that_says_how_to_mend(
    client: "Client",
) -> None:
    migrate(client, [FIRST, SECOND], nullcontext())
    baseline = Migration(1, "0001_baseline.sql", FIRST.sql)
    for opened in (
        lambda: migrate(client, [baseline], nullcontext()),
        lambda: lacking(client, [baseline]),
    ):
        with pytest.raises(BenanzaError, match=r"before the first release .*0001_a\.sql") as error:
            opened()
        assert re.search("delete its folder .* DROP DATABASE benanza", str(error.value))


def test_a_migration_that_was_broken_off_is_run_again_from_its_start(client: "Client") -> None:
    broken = Migration(1, "0001_a.sql", f"{FIRST.sql} {SECOND.sql} CREATE TABLE oops;")
    with pytest.raises(Exception, match="Incorrect CREATE query"):
        migrate(client, [broken], nullcontext())
    assert tables(client) == {"schema_migrations", "a", "b"}
    assert applied(client) == []
    migrate(client, [FIRST, SECOND], nullcontext())
    assert [version for version, _ in applied(client)] == [1, 2]


def test_the_shipped_migrations_make_the_tables_that_the_interface_names(
    client: "Client",
) -> None:
    for _ in range(2):
        migrate(client, shipped(), nullcontext())
    assert tables(client) == {
        "models",
        "architectures",
        "architecture_layers",
        "architecture_edges",
        "architecture_groups",
        "architecture_bounds",
        "stored_bounds",
        "model_architectures",
        "known_models",
        "model_layers",
        "model_edges",
        "model_groups",
        "layers",
        "systems",
        "measurements",
        "bounds",
        "witnesses",
        "profiles",
        "profile_calls",
        "profiles_beside_bounds",
        "missing_layers",
        "bound_layers",
        "bound_moves",
        "witnesses_beside_bounds",
        "what_if_runs",
        "heuristic_choices",
        "layer_rates",
        "dead_letters",
        "current_dead_letters",
        "bounds_at",
        "current_bounds",
        "best_measurements",
        "layer_reuse",
        "beaten_bounds",
        "sink_offsets",
        "measured_systems",
        "withdrawn_recordings",
        "evaluations",
        "taken_evaluations",
        "latest_evaluations",
        "evaluation_changes",
        "schema_migrations",
    }


def test_what_slowed_a_device_down_is_read_from_the_environment(client: "Client") -> None:
    migrate(client, shipped(), nullcontext())
    client.command(
        "INSERT INTO measurements (fingerprint, variant, environment) VALUES "
        "('a', 0, {'stable': 'no', 'slowed_by': 'power'}), "
        "('b', 1, {'stable': 'yes', 'slowed_by': 'heat'}), "
        "('c', 2, {'load_average': '0.1'})"
    )
    client.command("INSERT INTO measurements (fingerprint, variant) VALUES ('d', 3)")
    found = client.query("SELECT slowed_by FROM measurements ORDER BY variant").result_rows
    assert found == [("power",), ("",), ("",), ("",)]


def test_every_shipped_statement_can_be_run_again(client: "Client") -> None:
    """A file that was cut off is run again from its start, before those that come after it."""
    tables = "SELECT name, create_table_query FROM system.tables"
    for done in range(len(shipped())):
        migrate(client, shipped()[: done + 1], nullcontext())
        before = client.query(tables).result_set
        for statement in statements(shipped()[done].sql):
            client.command(statement)
        assert client.query(tables).result_set == before


def test_shipped_columns_follow_the_conventions(client: "Client") -> None:
    migrate(client, shipped(), nullcontext())
    columns = client.query(
        "SELECT table, name, type, comment FROM system.columns WHERE database = 'benanza'"
    ).result_rows
    assert len(columns) > 50
    for table, name, kind, comment in columns:
        assert comment, f"{table}.{name} has no comment"
        if name.endswith("_us"):
            assert re.fullmatch(r"(Nullable|Array)?\(?Float64\)?", kind), f"{table}.{name}"
            assert "microseconds" in comment, f"{table}.{name}"
        if name.endswith("_at"):
            time = kind.removeprefix("SimpleAggregateFunction(min, ")
            assert time.startswith("DateTime64(6, 'UTC')"), f"{table}.{name}"


def test_the_files_are_numbered_and_part_of_the_package() -> None:
    names = [migration.name for migration in shipped()]
    assert names == sorted(
        file.name
        for file in files("benanza_schemas").joinpath("clickhouse").iterdir()
        if file.name.endswith(".sql")
    )
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))


def test_a_migration_is_never_edited() -> None:
    """Stores on which it was run would be refused."""
    found = {migration.name: migration.checksum() for migration in shipped()}
    edited = [name for name, checksum in CHECKSUMS.items() if found.get(name) != checksum]
    assert not edited, (
        f"{', '.join(edited)} was edited or removed: bring the file back as it was, and put the "
        f"change into a new migration, {len(found) + 1:04}_NAME.sql"
    )
    assert found.keys() == CHECKSUMS.keys(), f"add the checksums of new migrations: {found}"


def test_a_semicolon_ends_a_statement_outside_of_quotes_and_comments_only() -> None:
    sql = """
        -- one; comment, with a quote that's open
        SELECT ';', "a;b", `c;d`, 'it''s; \\'; here' /* two; 'comments' */ ;;
        SELECT 1 - 2 / 3;
        SELECT 2 -- the end;
    """
    assert statements(sql) == [
        "SELECT ';', \"a;b\", `c;d`, 'it''s; \\'; here'",
        "SELECT 1 - 2 / 3",
        "SELECT 2",
    ]


@pytest.mark.parametrize("sql", ["SELECT 'a;\nSELECT 2;", 'SELECT "a', "SELECT `a", "SELECT /* a"])
def test_a_quote_or_comment_that_is_not_closed_is_an_error(sql: str) -> None:
    with pytest.raises(ValueError, match="line 2 isn't closed"):
        statements("SELECT 1;\n" + sql)


quoted = st.builds(
    lambda quote, text: quote + "".join(text) + quote,
    st.sampled_from("'\"`"),
    st.lists(st.sampled_from([";", "a", "--", "/*", "*/", "\n", "\\'", '\\"', "\\`", "\\\\"])),
)
comment = st.sampled_from(["-- a; 'b\n", '/* ; " */'])
word = st.sampled_from(["SELECT", "1", "-", "/", "*", "x.y", "(", ")"])


@given(st.lists(st.lists(st.one_of(quoted, word), min_size=1), max_size=5), st.data())
def test_statements_come_back_as_they_were_joined(
    parts: list[list[str]], data: st.DataObject
) -> None:
    expected = [" ".join(part) for part in parts]
    written = [data.draw(st.one_of(comment, st.just(""))) + statement for statement in expected]
    assert statements(" ;\n".join(written)) == expected


def test_what_a_store_without_architectures_has_is_found_by_model(client: "Client") -> None:
    """The migration is run again where it was cut off; whatever it has done then counts once."""
    at = [migration.name for migration in shipped()].index("0008_architectures.sql")
    former, last = shipped()[:at], shipped()[at]
    migrate(client, former, nullcontext())
    client.command(
        "INSERT INTO models (name, model_id, batch, layers, event_id) "
        "VALUES ('net', 'm', 1, 2, 'i')"
    )
    client.command(
        "INSERT INTO model_layers (model_id, position, name, op, fingerprint) VALUES "
        "('m', 0, 'first', 'Conv', 'c'), ('m', 1, 'last', 'Relu', 'r')"
    )
    client.command("INSERT INTO model_edges VALUES ('m', 0, 1)")
    client.command(
        "INSERT INTO model_groups (model_id, position, fingerprint, layers) VALUES "
        "('m', 0, 'g', [0, 1])"
    )
    client.command(
        "INSERT INTO bounds (model_id, system_id, sequential_us, critical_path, event_id) VALUES "
        "('m', 's', 1.5, [0, 1], 'b'), ('m', 's', 1.5, [0, 1], 'b')"
    )
    whole = statements(last.sql)
    for cut in range(len(whole)):
        for statement in whole[: cut + 1]:
            client.command(statement)
    migrate(client, shipped(), nullcontext())
    for query, wanted in (
        (
            "SELECT name, op FROM model_layers ORDER BY position",
            [("first", "Conv"), ("last", "Relu")],
        ),
        ("SELECT model_id, source, target FROM model_edges", [("m", 0, 1)]),
        ("SELECT model_id, fingerprint, layers FROM model_groups", [("m", "g", [0, 1])]),
        ("SELECT model_id, sequential_us FROM bounds", [("m", 1.5)]),
        ("SELECT model, model_id, sequential_us FROM current_bounds", [("net", "m", 1.5)]),
        ("SELECT architecture_id, layers, event_id FROM architectures FINAL", [("m", 2, "i")]),
        ("SELECT fingerprint, models, uses FROM layer_reuse WHERE title = 'Conv'", [("c", 1, 1)]),
    ):
        assert client.query(query).result_rows == wanted, query


def test_what_was_imported_before_there_were_withdrawals_can_be_taken_back(
    client: "Client",
) -> None:
    """And the systems that were there are those that were measured here."""
    migrate(client, shipped()[:9], nullcontext())
    client.command("INSERT INTO systems (system_id, cpu, threads) VALUES ('s', 'Some CPU', 2)")
    client.command(
        "INSERT INTO measurements (fingerprint, environment) VALUES "
        "('a', {'imported_from': 'digest'}), ('b', {'load': '1'})"
    )
    migrate(client, shipped(), nullcontext())
    for statement in WITHDRAW_MEASUREMENTS:
        client.command(statement, parameters={"digest": "digest"})
    assert client.query("SELECT fingerprint FROM measurements").result_rows == [("b",)]
    found = client.query("SELECT system_id, device FROM systems FINAL").result_rows
    assert found == [("s", "Some CPU, threads: 2")]
    own = client.query("SELECT system_id, imported_from FROM measured_systems").result_rows
    assert own == [("s", "")]
