"""From where models may be fetched, as it is written in a setting."""

from pathlib import Path

import pytest

from benanza_backbone.model_sources import (
    BucketSource,
    FolderSource,
    WebSource,
    parse_bucket,
    parse_sources,
)


def test_servers_and_folders() -> None:
    text = "https://Zoo.Example/, https://*.cdn.example,http://minio:9000,https://*,file:///a%20b,"
    assert parse_sources(text) == (
        WebSource("https", "zoo.example", 443),
        WebSource("https", "*.cdn.example", 443),
        WebSource("http", "minio", 9000),
        WebSource("https", "*", 443),
        FolderSource(Path("/a b")),
    )
    assert [each.exact for each in parse_sources(text) if isinstance(each, WebSource)] == [
        True,
        False,
        True,
        False,
    ]
    assert parse_sources("") == ()


def test_they_are_shown_as_they_may_be_written() -> None:
    text = (
        "https://zoo.example,http://[::1]:9000,http://10.0.0.1,file:///models,s3://a.b,s3://a/b/c"
    )
    assert ",".join(map(str, parse_sources(text))) == text


@pytest.mark.parametrize(
    "text",
    [
        "zoo.example",
        "ftp://zoo.example",
        "https://",
        "https://a.example/models",
        "https://a.example?x=1",
        "https://user@a.example",
        "https://a*.example",
        "https://a.*",
        "https://a.example:99999",
        "https://[oops",
        "file://host/models",
        "file:models",
        "file:///models/../etc",
        "s3://",
        "s3:models",
        "s3://Models",
        "s3://*",
        "s3://arn:aws:s3:::models",
        "s3://models//a",
        "s3://models/../a",
        "s3://models/a?x=1",
    ],
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be|is no address"):
        parse_sources(text)


def test_a_bucket_holds_what_is_below_its_prefix() -> None:
    assert parse_bucket("") is None
    assert parse_bucket("s3://models/") == BucketSource("models")
    assert BucketSource("models").holds("models", "any/key")
    assert not BucketSource("models").holds("models2", "any/key")
    below = parse_bucket("s3://models/a/b/")
    assert below == BucketSource("models", "a/b")
    assert below.holds("models", "a/b/key")
    assert not below.holds("models", "a/bc")
    assert not below.holds("models", "a/b")
