"""`benanza check-config`: every setting, and whether what it names answers."""

import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
from click.testing import CliRunner
from kafka import KafkaAdminClient

from benanza.cli import cli
from benanza.operating.check_config import TIMEOUT_S
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.topics import create_topics
from benanza_runner.cuda.available import why_unavailable
from benanza_schemas.topics import JOBS, MODELS, PARTITIONS
from tests.object_store import BUCKET, object_store_server

pytestmark = pytest.mark.integration


def check_config() -> tuple[int, dict[str, Any]]:
    """The exit status, and the JSON document."""
    result = CliRunner().invoke(cli, ["check-config", "--format", "json"])
    report: dict[str, Any] = json.loads(result.stdout)
    assert result.stderr == ""
    assert result.exit_code == (0 if all(check["ok"] for check in report["checks"]) else 1)
    return result.exit_code, report


def answers() -> dict[str, tuple[bool, str]]:
    _, report = check_config()
    return {check["name"]: (check["ok"], check["detail"]) for check in report["checks"]}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An embedded installation's folder."""
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    monkeypatch.delenv("BENANZA_CLICKHOUSE", raising=False)
    return tmp_path / "data"


@pytest.fixture
def silent_server() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def use(monkeypatch: pytest.MonkeyPatch, connection: KafkaConnection) -> None:
    monkeypatch.setenv("BENANZA_KAFKA", ",".join(connection.bootstrap))
    monkeypatch.setenv("BENANZA_KAFKA_PREFIX", connection.prefix)


def test_every_setting_is_listed_with_where_it_comes_from(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENANZA_DATUM", "a slip")
    status, report = check_config()
    assert status == 0
    settings = {setting["name"]: setting for setting in report["settings"]}
    assert settings["BENANZA_DATA"]["value"] == str(data)
    assert settings["BENANZA_DATA"]["source"] == "environment"
    assert settings["BENANZA_LOG_FORMAT"]["source"] == "default"
    (line,) = report["unknown"]
    assert line.startswith("BENANZA_DATUM is no setting")
    assert [check["name"] for check in report["checks"]] == ["data folder", "ClickHouse", "runtime"]


@pytest.mark.parametrize("missing", [(), ("openvino",)])
def test_the_libraries_that_measure_are_named(
    missing: tuple[str, ...], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENANZA_CPU_LIBRARIES", "all")
    monkeypatch.setattr("benanza.operating.check_config.not_installed", lambda: missing)
    right, detail = answers()["runtime"]
    assert right
    if why_unavailable():
        assert f": onnxruntime {onnxruntime.__version__}" in detail
        assert ("; the extra cpu would bring openvino" in detail) == bool(missing)


def test_a_folder_of_models_that_is_not_there_is_told(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENANZA_MODEL_SOURCES", f"https://zoo.example,{tmp_path.as_uri()}")
    assert answers()["model sources"] == (True, "1 folder of models can be read")
    monkeypatch.setenv("BENANZA_MODEL_SOURCES", f"{tmp_path.as_uri()}/lost")
    ok, detail = answers()["model sources"]
    assert not ok
    assert f"names {tmp_path}/lost, which is no folder that can be read here; mount it" in detail


@pytest.mark.usefixtures("data")
def test_buckets_of_models_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with object_store_server(monkeypatch):
        monkeypatch.setenv("BENANZA_MODEL_SOURCES", f"s3://{BUCKET}")
        monkeypatch.setenv("BENANZA_MODEL_UPLOADS", "s3://nowhere/benanza")
        ok, detail = answers()["object store"]
    assert not ok
    assert detail.startswith(
        "s3://nowhere can't be used (404); check the address, AWS_ENDPOINT_URL"
    )


def test_tables_that_are_behind_are_told_and_left_alone(data: Path) -> None:
    for _ in range(2):
        ok, detail = answers()["ClickHouse"]
        assert ok
        assert "which the next start runs" in detail
    Store.open(f"chdb://{data}/clickhouse").close()
    ok, detail = answers()["ClickHouse"]
    assert ok
    assert detail.endswith("its tables are up to date")


def test_what_does_not_answer_is_exit_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in place of the data folder; nobody on the ports; a password that isn't shown."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("BENANZA_DATA", str(tmp_path / "file"))
    monkeypatch.setenv("BENANZA_CLICKHOUSE", "clickhouse://me:secret@127.0.0.1:9")
    monkeypatch.setenv("BENANZA_KAFKA", "127.0.0.1:9")
    result = CliRunner().invoke(cli, ["check-config"])
    assert result.exit_code == 1
    assert "secret" not in result.output
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 4
    assert str(tmp_path / "file") in failed[0]
    assert "no Kafka broker answers at 127.0.0.1:9" in failed[1]
    assert "127.0.0.1:9" in failed[2]
    assert str(tmp_path / "file") in failed[3]


@pytest.mark.alone
def test_servers_that_say_nothing_are_not_waited_for_long(
    data: Path, silent_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENANZA_KAFKA", silent_server)
    monkeypatch.setenv("BENANZA_CLICKHOUSE", f"clickhouse://{silent_server}")
    begin = time.monotonic()
    found = answers()
    assert time.monotonic() - begin < 6 * TIMEOUT_S
    for name in ("Kafka", "ClickHouse"):
        ok, detail = found[name]
        assert not ok
        assert silent_server in detail
        assert "\n" not in detail


def test_kafka_answers_and_has_the_topics(
    data: Path, kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, kafka)
    ok, detail = answers()["Kafka"]
    assert not ok
    assert MODELS in detail
    assert detail.endswith("say: benanza topics")
    create_topics(kafka)
    ok, detail = answers()["Kafka"]
    assert ok, detail
    assert ",".join(kafka.bootstrap) in detail


def test_a_topic_with_other_partitions_is_named(
    data: Path, kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, kafka)
    with KafkaAdminClient(**kafka.kafka_python()) as admin:
        admin.create_topics({kafka.topic(JOBS): {"num_partitions": 3, "replication_factor": 1}})
        admin.wait_for_topics([kafka.topic(JOBS)])
    create_topics(kafka)
    ok, detail = answers()["Kafka"]
    assert not ok
    assert "jobs has 3 partitions" in detail


def test_topics_that_lose_events_are_named(
    data: Path, kafka: KafkaConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made by someone else, with as many partitions and Kafka's defaults."""
    use(monkeypatch, kafka)
    made = {kafka.topic(name): {"num_partitions": number} for name, number in PARTITIONS.items()}
    with KafkaAdminClient(**kafka.kafka_python()) as admin:
        admin.create_topics(made)
        admin.wait_for_topics(list(made))
    ok, detail = answers()["Kafka"]
    assert not ok
    assert "models has retention.ms=604800000, and needs -1" in detail
    assert "jobs has cleanup.policy=delete, and needs compact" in detail
    assert "results has max.message.bytes=1048588, and needs 17" in detail
    assert "layers has retention" not in detail
    assert "graphs has message.timestamp.type=CreateTime, and needs LogAppendTime" in detail
    assert "models has compression.type=producer, and needs uncompressed" in detail
    topics = CliRunner().invoke(cli, ["topics"])
    assert topics.exit_code == 1
    # That it changes itself.
    assert "compression.type" not in topics.stderr
    _, detail = answers()["Kafka"]
    assert topics.stderr == f"error: {detail}\n"


@pytest.mark.parametrize(("package", "name"), [("chdb", "ClickHouse"), ("onnxruntime", "runtime")])
def test_a_package_that_is_not_installed_is_a_failure_only_without_kafka(
    data: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str
) -> None:
    """The image of each service lacks some."""
    monkeypatch.setitem(sys.modules, package, None)
    ok, detail = answers()[name]
    assert not ok
    assert detail.startswith(f"{package} is not installed here")
    monkeypatch.setenv("BENANZA_KAFKA", "127.0.0.1:9")
    assert answers()[name] == (True, detail)


def test_a_bad_setting_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENANZA_MAX_NODES", "many")
    result = CliRunner().invoke(cli, ["check-config"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: BENANZA_MAX_NODES can't be 'many'")
