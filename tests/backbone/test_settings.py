"""Settings from the environment: their values, where they come from, and what is refused."""

import sys
from pathlib import Path

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.model_sources import BucketSource
from benanza_backbone.settings import ListedSetting, load


def listed(environ: dict[str, str], variable: str) -> ListedSetting:
    (setting,) = (s for s in load(environ).listed if s.name == variable)
    return setting


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    settings = load({})
    assert settings.data == Path("/home/ada/.local/share/benanza")
    assert settings.event_log == Path("/home/ada/.local/share/benanza/events.sqlite")
    assert settings.clickhouse == "chdb:///home/ada/.local/share/benanza/clickhouse"
    assert settings.log_format == "text"
    assert settings.max_model_bytes == 2**31 - 1
    assert {setting.source for setting in settings.listed} == {"default"}
    assert settings.unknown == ()


def test_every_setting_is_listed_with_a_description() -> None:
    settings = load({})
    fields = set(vars(settings)) - {"listed", "unknown"}
    names = {s.name.removeprefix("BENANZA_").lower() for s in settings.listed}
    assert {name for name in names if not name.startswith("kafka_")} == fields
    assert all(s.description for s in settings.listed)


def test_values_from_the_environment() -> None:
    environ = {
        "BENANZA_DATA": "/srv/benanza",
        "BENANZA_CLICKHOUSE": "http://host:8123/benanza",
        "BENANZA_LOG_FORMAT": "json",
        "BENANZA_MAX_MODEL_BYTES": "1_000_000",
        "BENANZA_MAX_NODES": "7",
        "BENANZA_MAX_TENSOR_ELEMENTS": "8",
        "BENANZA_MODEL_SOURCES": "https://zoo.example, file:///models",
        "BENANZA_MODEL_UPLOADS": "s3://models/benanza",
        "BENANZA_BENCHMARK_TIMEOUT_S": "2.5",
        "BENANZA_CPU_LIBRARIES": "none",
        "BENANZA_RUNNERS": "4",
        "BENANZA_METRICS_HOST": "0.0.0.0",
        "BENANZA_METRICS_PORT": "0",
        "BENANZA_DRAIN_TIMEOUT_S": "5",
        "PATH": "/bin",
    }
    settings = load(environ)
    assert settings.event_log == Path("/srv/benanza/events.sqlite")
    assert settings.clickhouse == "http://host:8123/benanza"
    assert settings.log_format == "json"
    assert settings.max_model_bytes == 1_000_000
    assert (settings.max_nodes, settings.max_tensor_elements) == (7, 8)
    assert list(map(str, settings.model_sources)) == ["https://zoo.example", "file:///models"]
    assert settings.model_uploads == BucketSource("models", "benanza")
    assert settings.benchmark_timeout_s == 2.5
    assert settings.cpu_libraries == "none"
    assert settings.runners == 4
    assert (settings.metrics_host, settings.metrics_port) == ("0.0.0.0", 0)
    assert settings.drain_timeout_s == 5
    sources = {s.name: s.source for s in settings.listed if "KAFKA" not in s.name}
    assert set(sources.values()) == {"environment"}
    assert settings.unknown == ()


def test_without_brokers_the_mode_is_embedded() -> None:
    assert load({"BENANZA_KAFKA_PREFIX": "lab."}).kafka is None


def test_kafka_from_the_environment(tmp_path: Path) -> None:
    for name in ("ca", "cert", "key"):
        (tmp_path / name).write_text("PEM")
    (tmp_path / "password").write_text("open sesame\n")
    environ = {
        "BENANZA_KAFKA": "a.example:9092, [::1]:9093",
        "BENANZA_KAFKA_PREFIX": "lab.",
        "BENANZA_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "BENANZA_KAFKA_SECURITY_CA_FILE": f"{tmp_path}/ca",
        "BENANZA_KAFKA_SECURITY_CERT_FILE": f"{tmp_path}/cert",
        "BENANZA_KAFKA_SECURITY_KEY_FILE": f"{tmp_path}/key",
        "BENANZA_KAFKA_SECURITY_SASL_MECHANISM": "SCRAM-SHA-256",
        "BENANZA_KAFKA_SECURITY_USERNAME": "benanza",
        "BENANZA_KAFKA_SECURITY_PASSWORD_FILE": f"{tmp_path}/password",
    }
    settings = load(environ)
    assert settings.kafka == KafkaConnection(
        bootstrap=("a.example:9092", "[::1]:9093"),
        prefix="lab.",
        security_protocol="SASL_SSL",
        ca_file=f"{tmp_path}/ca",
        cert_file=f"{tmp_path}/cert",
        key_file=f"{tmp_path}/key",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_username="benanza",
        sasl_password="open sesame",
    )
    assert settings.unknown == ()
    assert "sesame" not in repr(settings)


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("KAFKA", "localhost", "HOST:PORT"),
        ("KAFKA", "http://localhost:9092", "HOST:PORT"),
        ("KAFKA_PREFIX", "a/b", "letters, digits"),
        ("KAFKA_SECURITY_PROTOCOL", "TLS", "PLAINTEXT or SSL or SASL_PLAINTEXT or SASL_SSL"),
        ("KAFKA_SECURITY_SASL_MECHANISM", "GSSAPI", "PLAIN or SCRAM-SHA-256 or SCRAM-SHA-512"),
        ("KAFKA_SECURITY_CA_FILE", "/nowhere/ca.pem", "no such file"),
    ],
)
def test_kafka_settings_that_are_refused(variable: str, value: str, allowed: str) -> None:
    with pytest.raises(BenanzaError, match=f"BENANZA_{variable} .*{allowed}"):
        load({f"BENANZA_{variable}": value})


def test_kafka_is_refused_where_its_client_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "kafka", None)
    with pytest.raises(BenanzaError, match=r"pip install 'benanza\[services\]'"):
        load({"BENANZA_KAFKA": "localhost:9092"})
    assert load({}).kafka is None


def test_the_store_is_beside_the_log_unless_said_otherwise() -> None:
    settings = load({"BENANZA_DATA": "/srv/my data"})
    assert settings.clickhouse == "chdb:///srv/my data/clickhouse"
    assert listed({"BENANZA_DATA": "/srv"}, "BENANZA_DATA").source == "environment"
    assert listed({"BENANZA_DATA": "/srv"}, "BENANZA_CLICKHOUSE").source == "default"


@pytest.mark.parametrize("text", ["data", "./data", "~/data"])
def test_folders_are_made_absolute(
    text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    environ = {"BENANZA_DATA": text}
    assert load(environ).data == tmp_path / "data"
    assert listed(environ, "BENANZA_DATA").value == str(tmp_path / "data")


def test_xdg_data_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert load({"XDG_DATA_HOME": "/xdg"}).data == Path("/xdg/benanza")
    # The specification: a relative one is to be ignored.
    assert load({"XDG_DATA_HOME": "xdg"}).data == Path("/home/ada/.local/share/benanza")


def test_an_empty_variable_is_unset() -> None:
    environ = {"BENANZA_CLICKHOUSE": "", "BENANZA_CLICKHOUSE_FILE": "", "BENANZA_MAX_NODES": ""}
    assert load(environ) == load({})


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("BENANZA_LOG_FORMAT", "xml", "text or json"),
        ("BENANZA_MAX_NODES", "many", "a whole number, at least 1"),
        ("BENANZA_MAX_NODES", "0", "a whole number, at least 1"),
        ("BENANZA_MAX_MODEL_BYTES", "-1", "a whole number, at least 1"),
        ("BENANZA_MAX_MODEL_BYTES", "2GB", "a whole number, at least 1"),
        ("BENANZA_MAX_TENSOR_ELEMENTS", "1e9", "a whole number, at least 1"),
        ("BENANZA_BENCHMARK_TIMEOUT_S", "0.0", "a number of seconds above 0"),
        ("BENANZA_METRICS_PORT", "65536", "a port, from 0 to 65535"),
        ("BENANZA_METRICS_PORT", "-1", "a port, from 0 to 65535"),
        ("BENANZA_DRAIN_TIMEOUT_S", "0", "a number of seconds above 0"),
        ("BENANZA_BENCHMARK_TIMEOUT_S", "nan", "a number of seconds above 0"),
        ("BENANZA_BENCHMARK_TIMEOUT_S", "1m", "a number of seconds above 0"),
        ("BENANZA_MODEL_SOURCES", "zoo.example", "https://HOST"),
        ("BENANZA_MODEL_UPLOADS", "s3://", "s3://BUCKET/PREFIX"),
        ("BENANZA_MODEL_UPLOADS", "https://models.example", "s3://BUCKET/PREFIX"),
        ("BENANZA_DATA", "/data?x", "without ?"),
        ("BENANZA_DATA", "/da\nta", "without ?"),
        ("BENANZA_DATA", "~nobody-of-this-name/data", "name another folder"),
    ],
)
def test_a_bad_value_names_the_variable_the_value_and_what_is_allowed(
    variable: str, value: str, allowed: str
) -> None:
    with pytest.raises(BenanzaError) as caught:
        load({variable: value})
    text = str(caught.value)
    assert text.startswith(f"{variable} can't be {value!r} (environment): ")
    assert allowed in text
    assert "\n" not in text


def test_a_user_without_a_home_folder_is_told_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda uid: (_ for _ in ()).throw(KeyError(uid)))
    with pytest.raises(
        BenanzaError, match=r"BENANZA_DATA can't be '~/.*' \(default\): .*name another"
    ):
        load({})
    assert load({"BENANZA_DATA": "/srv"}).data == Path("/srv")


# Passwords


def test_a_value_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "dsn"
    file.write_text("http://ada:pass%20word@host:8123/benanza\n")
    environ = {"BENANZA_CLICKHOUSE_FILE": str(file)}
    assert load(environ).clickhouse == "http://ada:pass%20word@host:8123/benanza"
    shown = listed(environ, "BENANZA_CLICKHOUSE")
    assert shown.value == "http://ada@host:8123"
    assert shown.source == f"file {file}"
    assert load(environ).unknown == ()


def test_a_variable_and_its_file_contradict(tmp_path: Path) -> None:
    environ = {"BENANZA_CLICKHOUSE": "http://h", "BENANZA_CLICKHOUSE_FILE": str(tmp_path)}
    with pytest.raises(BenanzaError, match="CLICKHOUSE_FILE are both set: unset one"):
        load(environ)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "dsn"
    environ = {"BENANZA_CLICKHOUSE_FILE": str(file)}
    with pytest.raises(BenanzaError, match=f"names {file}, which can't be read: .*No such file"):
        load(environ)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(BenanzaError, match=f"names {file}, which can't be read: .*utf-8"):
        load(environ)
    file.write_text(" \n")
    with pytest.raises(BenanzaError, match=f"names {file}, which is empty"):
        load(environ)


def test_only_secrets_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("5")
    settings = load({"BENANZA_MAX_NODES_FILE": str(tmp_path / "nodes")})
    assert settings.max_nodes == load({}).max_nodes
    assert settings.unknown == (
        "BENANZA_MAX_NODES_FILE is no setting: did you mean BENANZA_MAX_NODES?",
    )


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("clickhouse://ada:s3cr3t%2F@host:8123/benanza", "clickhouse://ada@host:8123"),
        ("https://:s3cr3t@host", "https://host"),
        ("https://host/?user=ada&password=s3cr3t", "https://host"),
        ("https://host/?access_token=s3cr3t", "https://host"),
    ],
)
def test_no_password_is_shown(dsn: str, shown: str) -> None:
    environ = {"BENANZA_CLICKHOUSE": dsn}
    assert load(environ).clickhouse == dsn
    assert listed(environ, "BENANZA_CLICKHOUSE").value == shown
    assert "s3cr3t" not in repr(load(environ))


@pytest.mark.parametrize(
    "dsn", ["ftp://ada:s3cr3t@host", "ada:s3cr3t@host", "http://ada:s3cr3t/@host", "s3cr3t"]
)
def test_a_bad_address_is_refused_without_showing_its_password(dsn: str, tmp_path: Path) -> None:
    refused = r"BENANZA_CLICKHOUSE can't be what it holds \({}\): .* of the form chdb:///folder or"
    with pytest.raises(BenanzaError, match=refused.format("environment")) as caught:
        load({"BENANZA_CLICKHOUSE": dsn})
    assert "s3cr3t" not in str(caught.value)

    (tmp_path / "dsn").write_text(dsn)
    with pytest.raises(BenanzaError, match=refused.format(f"file {tmp_path / 'dsn'}")) as caught:
        load({"BENANZA_CLICKHOUSE_FILE": str(tmp_path / "dsn")})
    assert "s3cr3t" not in str(caught.value)


# Variables that are no settings


def test_a_typo_is_reported_with_the_nearest_setting() -> None:
    environ = {
        "BENANZA_CLICKHOSE": "http://host",
        "BENANZA_MAXNODES": "5",
        "BENANZA_XYZZY": "1",
        "benanza_data": "/not/ours",
    }
    assert load(environ).unknown == (
        "BENANZA_CLICKHOSE is no setting: did you mean BENANZA_CLICKHOUSE?",
        "BENANZA_MAXNODES is no setting: did you mean BENANZA_MAX_NODES?",
        "BENANZA_XYZZY is no setting: unset it",
    )
