"""Models are fetched from a store with the S3 API, or one line says why not."""

import builtins
import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from benanza_backbone.model_sources import parse_sources
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of
from benanza_ingest.reading.allowed import ANYWHERE, Allowed
from benanza_ingest.reading.object_address import object_address
from benanza_ingest.reading.object_store import check_bucket
from benanza_ingest.reading.source import fetch
from benanza_schemas.events import ModelPublished
from tests.ingest.reading.model_server import MODEL
from tests.object_store import BUCKET, object_store_server

LIMITS = Limits(model_bytes=1000)
KEY = "a folder/50%/my model.onnx"
ADDRESS = f"s3://{BUCKET}/{KEY}"
SHA256 = hashlib.sha256(MODEL).hexdigest()


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as environment, object_store_server(environment) as client:
        client.put_object(Bucket=BUCKET, Key=KEY, Body=MODEL)
        client.put_object(Bucket=BUCKET, Key="large", Body=bytes(1001))
        yield client


def refusal(address: str, allowed: Allowed = ANYWHERE, sha256: str | None = None) -> str:
    with pytest.raises(ModelError) as refused:
        fetch(address, LIMITS, sha256, allowed)
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.usefixtures("store")
def test_an_object_by_its_address() -> None:
    found = fetch(ADDRESS, LIMITS, SHA256)
    assert (found.name, found.content, found.uri) == ("my model", MODEL, ADDRESS)
    allowed = Allowed(parse_sources(f"s3://{BUCKET}/a folder"))
    assert fetch(ADDRESS, LIMITS, SHA256, allowed) == found


@pytest.mark.usefixtures("store")
def test_an_object_that_is_not_to_be_had() -> None:
    assert f"s3://{BUCKET}/lost can't be fetched (NoSuchKey); check" in refusal(
        f"s3://{BUCKET}/lost"
    )
    assert "s3://lost/m can't be fetched (NoSuchBucket)" in refusal("s3://lost/m")
    assert "(ParamValidationError)" in refusal("s3://no_bucket!/m")
    assert f"s3://{BUCKET}/large is larger than 1,000 bytes" in refusal(f"s3://{BUCKET}/large")
    assert "add s3://models to BENANZA_MODEL_SOURCES" in refusal(ADDRESS, Allowed(()))


@pytest.mark.usefixtures("store")
def test_a_bucket_that_is_there() -> None:
    check_bucket(BUCKET)
    with pytest.raises(ModelError, match=r"^s3://lost can't be used \(404\); check the address"):
        check_bucket("lost")


@pytest.mark.usefixtures("store")
def test_an_object_that_was_changed() -> None:
    assert f"{ADDRESS} has the SHA-256 {SHA256}, not {'0' * 64}" in refusal(
        ADDRESS, sha256="0" * 64
    )


@pytest.mark.usefixtures("store")
def test_a_dead_letter_says_that_it_is_about_where_ingest_runs() -> None:
    event = ModelPublished(event_id="1" * 32, name="m", sha256=SHA256, uri=f"s3://{BUCKET}/lost")
    with pytest.raises(ModelError, match=r"^where ingest runs, s3://models/lost can't be fetched"):
        content_of(event, LIMITS)


@pytest.mark.parametrize(
    "address", ["s3:models", "s3://", "s3://models", "s3://models/", "s3:///m"]
)
def test_what_names_no_object(address: str) -> None:
    assert "names no object; write s3://BUCKET/KEY" in refusal(address)


def test_a_key_that_leads_out_of_its_folder() -> None:
    """In a store that keeps objects as files, whatever prefix is allowed."""
    for key in ("a/../b", "a/./b", ".."):
        with pytest.raises(ModelError, match=r"has \. or \.\. in its key"):
            object_address(f"s3://models/{key}")
    assert object_address("s3://models/a//b..c").key == "a//b..c"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def lacking(name: str, *arguments: Any) -> Any:
        if name == "boto3":
            raise ModuleNotFoundError("No module named 'boto3'")
        return imported(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", lacking)
    assert "No module named 'boto3'; say: pip install 'benanza[s3]'" in refusal(ADDRESS)
