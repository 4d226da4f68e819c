"""From where models may be fetched, as it is written in a setting."""

from pathlib import Path

import pytest

from benanza_backbone.model_sources import FolderSource, WebSource, parse_sources


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
    text = "https://zoo.example,http://[::1]:9000,http://10.0.0.1,file:///models"
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
    ],
)
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be|is no address"):
        parse_sources(text)
