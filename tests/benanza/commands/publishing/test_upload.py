"""What is too large for an event goes through an object store, from the command to ingest."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benanza.cli import cli
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_schemas.codec import decode
from benanza_schemas.events import CheckpointIngested
from benanza_schemas.topics import CHECKPOINTS, DEAD_LETTERS
from tests.benanza.commands.publishing.test_publish import published
from tests.benanza.conftest import PROGRAM
from tests.benanza.processes import Installation, ServiceProcess, until
from tests.benanza.publishing.test_asked_models import product
from tests.object_store import BUCKET, object_store_server

UPLOADS = f"s3://{BUCKET}/benanza"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with object_store_server(monkeypatch) as client:
        monkeypatch.setenv("BENANZA_MODEL_UPLOADS", UPLOADS)
        yield client


@pytest.fixture
def large(tmp_path: Path) -> Path:
    return product(tmp_path / "large one.onnx", 5000, random_weights=True)


def objects(store: Any) -> dict[str, Any]:
    """When each object was written, by its key."""
    found = store.list_objects_v2(Bucket=BUCKET).get("Contents", ())
    return {each["Key"]: each["LastModified"] for each in found}


def publish(*models: Path) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["publish", *map(str, models)])
    return result.exit_code, result.stderr


@pytest.mark.usefixtures("embedded")
def test_a_large_file_is_uploaded_once_under_its_checksum(
    store: Any, large: Path, tmp_path: Path
) -> None:
    small = product(tmp_path / "small.onnx", 16)
    assert publish(large, small) == (0, "")
    content = large.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    key = f"benanza/{sha256}.onnx"
    first, inline = published()
    assert (first.uri, first.content, first.sha256) == (f"s3://{BUCKET}/{key}", None, sha256)
    assert inline.content, "a small file needs no store"
    assert store.get_object(Bucket=BUCKET, Key=key)["Body"].read() == content
    written = objects(store)
    assert list(written) == [key]
    large.rename(tmp_path / "another name.onnx")
    assert publish(tmp_path / "another name.onnx") == (0, "")
    assert objects(store) == written
    assert published()[-1].uri == first.uri
    store.put_object(Bucket=BUCKET, Key=key, Body=b"cut off")
    assert publish(tmp_path / "another name.onnx") == (0, "")
    assert store.get_object(Bucket=BUCKET, Key=key)["Body"].read() == content


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("BENANZA_MODEL_UPLOADS", "s3://nowhere", "(NoSuchBucket)"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9", "(EndpointConnectionError)"),
        ("AWS_ENDPOINT_URL_S3", "nonsense", "(Invalid endpoint: nonsense)"),
        ("AWS_ACCESS_KEY_ID", None, "(NoCredentialsError)"),
        ("AWS_PROFILE", "nobody", "(ProfileNotFound)"),
    ],
)
def test_what_cannot_be_uploaded_is_one_line(
    store: Any,
    large: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str | None,
    reason: str,
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    if value is None:
        monkeypatch.delenv(variable)
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    else:
        monkeypatch.setenv(variable, value)
    status, said = publish(large)
    assert status == 1
    assert said.startswith(f"error: {large} can't be uploaded to s3://")
    assert reason in said
    assert "check the address, AWS_ENDPOINT_URL, and the credentials" in said
    assert said.count("\n") == 1
    assert published() == []


def test_ingest_as_a_service_fetches_what_was_uploaded(
    store: Any,
    large: Path,
    kafka: KafkaConnection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create_topics(kafka)
    environment = Installation(kafka, tmp_path).environment() | {"BENANZA_MODEL_SOURCES": UPLOADS}
    for name in ("BENANZA_KAFKA", "BENANZA_KAFKA_PREFIX"):
        monkeypatch.setenv(name, environment[name])
    assert publish(large) == (0, "")
    large.unlink()
    command: list[str | Path] = [PROGRAM, "serve", "ingest"]
    with ServiceProcess(command, environment, tmp_path), KafkaEventLog(kafka) as log:
        until(lambda: bool([*log.records(CHECKPOINTS), *log.records(DEAD_LETTERS)]))
        (record,) = [*log.records(CHECKPOINTS), *log.records(DEAD_LETTERS)]
    found = decode(record.value)
    assert isinstance(found, CheckpointIngested)
    assert found.name == "large one"
