"""What a deployment may fetch is what it was told; nothing leads from there into its network."""

import os
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza_backbone.model_sources import parse_sources
from benanza_backbone.settings import load
from benanza_ingest.errors import ModelError
from benanza_ingest.reading.allowed import ANYWHERE, Allowed, Origin, allowed_of, is_forbidden
from benanza_ingest.reading.object_address import ObjectAddress

PUBLIC = "93.184.216.34"
ZOO = Origin("https", "zoo.example", 443)


def allowing(text: str) -> Allowed:
    return Allowed(parse_sources(text))


def test_a_deployment_allows_nothing_that_it_is_not_told(tmp_path: Path) -> None:
    allowed = allowed_of(load({"BENANZA_KAFKA": "k:9092"}))
    with pytest.raises(
        ModelError, match=r"from https://zoo\.example; add it to BENANZA_MODEL_SOURCES"
    ):
        allowed.check_origin(ZOO)
    with pytest.raises(ModelError, match=f"add file://{tmp_path} to BENANZA_MODEL_SOURCES"):
        allowed.file(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("source", "origin", "so"),
    [
        ("https://zoo.example", ZOO, True),
        ("https://*.example", ZOO, True),
        ("https://*", ZOO, True),
        ("http://zoo.example", ZOO, False),
        ("https://zoo.example:8443", ZOO, False),
        ("https://zoo.example:8443", Origin("https", "zoo.example", 8443), True),
        ("https://*.zoo.example", ZOO, False),
        ("https://zoo.example", Origin("https", "zoo.example.evil.example", 443), False),
        ("https://*.example", Origin("https", "evilexample", 443), False),
        ("https://zoo.example", Origin("https", "a.zoo.example", 443), False),
    ],
)
def test_a_server_is_allowed_by_scheme_name_and_port(source: str, origin: Origin, so: bool) -> None:
    if so:
        allowing(source).check_origin(origin)
    else:
        with pytest.raises(ModelError, match="may not fetch from"):
            allowing(source).check_origin(origin)


@pytest.mark.parametrize(
    ("source", "so"),
    [
        ("s3://models", True),
        ("s3://models/a", True),
        ("s3://models/b", False),
        ("s3://model", False),
        ("https://*", False),
        ("file:///models", False),
    ],
)
def test_an_object_is_allowed_by_its_bucket_and_the_begin_of_its_key(source: str, so: bool) -> None:
    address = ObjectAddress("models", "a/m.onnx")
    ANYWHERE.check_object(address)
    if so:
        allowing(source).check_object(address)
    else:
        with pytest.raises(ModelError, match=r"fetch s3://models/a/m\.onnx; add s3://models to"):
            allowing(source).check_object(address)


LINK_LOCAL = [
    "169.254.169.254",
    "fe80::1",
    "fe80::1%2",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "fd00:ec2::254",
    "100.100.100.200",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "240.0.0.1",
]


@pytest.mark.parametrize("address", LINK_LOCAL)
def test_link_local_and_reserved_addresses_are_for_nobody(address: str) -> None:
    for allowed in (ANYWHERE, allowing("https://zoo.example")):
        with pytest.raises(ModelError, match="where there is no server of models"):
            allowed.addresses(ZOO, [address], None)


PRIVATE = ["127.0.0.1", "10.1.2.3", "192.168.0.1", "::1", "fd12::1", "::ffff:10.0.0.1"]


@pytest.mark.parametrize("address", PRIVATE)
def test_a_private_address_has_to_be_asked_for(address: str) -> None:
    for asked_for in (ANYWHERE, allowing("https://*.example,https://zoo.example")):
        assert asked_for.addresses(ZOO, [address], None) == [address]
        assert asked_for.addresses(ZOO, [address], ZOO) == [address], "the same server again"
        with pytest.raises(ModelError, match=r"redirects to https://zoo\.example, which is at"):
            asked_for.addresses(ZOO, [address], Origin("https", "other.example", 443))
    for by_pattern in ("https://*", "https://*.example"):
        with pytest.raises(ModelError, match="in a private network; if that is meant, add"):
            allowing(by_pattern).addresses(ZOO, [address], None)


def test_of_several_addresses_those_that_are_allowed_are_left() -> None:
    found = ["fe80::1%3", "192.168.0.7", PUBLIC]
    assert ANYWHERE.addresses(ZOO, found, None) == ["192.168.0.7", PUBLIC]
    assert allowing("https://*").addresses(ZOO, found, None) == [PUBLIC]


@given(st.ip_addresses(v=4, network="169.254.0.0/16") | st.ip_addresses(v=6, network="fe80::/10"))
def test_the_whole_of_the_link_local_networks_is_forbidden(address: object) -> None:
    assert is_forbidden(ip_address(str(address)))


def test_files_only_below_the_folders_also_by_links(tmp_path: Path) -> None:
    models, secret = tmp_path / "models", tmp_path / "secret"
    (models / "deep").mkdir(parents=True)
    (models / "deep" / "m.onnx").touch()
    secret.touch()
    (models / "out").symlink_to(secret)
    (models / "in").symlink_to(models / "deep" / "m.onnx")
    os.mkfifo(models / "pipe")
    (tmp_path / "models-too").touch()
    allowed = allowing(models.as_uri())
    assert allowed.file(models / "deep" / "m.onnx") == models / "deep" / "m.onnx"
    assert allowed.file(models / "in") == models / "deep" / "m.onnx"
    for outside in (secret, models / "out", models / ".." / "secret", tmp_path / "models-too"):
        with pytest.raises(ModelError, match="isn't in a folder from which ingest may read"):
            allowed.file(outside)
    with pytest.raises(ModelError, match="is no file"):
        allowed.file(models / "pipe")
    assert ANYWHERE.file(models / "pipe") == models / "pipe", "a user may read a pipe of their own"


def test_a_file_that_is_not_allowed_is_not_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    told = []
    for name in ("there", "nope!"):
        with pytest.raises(ModelError) as refused:
            allowing("file:///models").file(tmp_path / name)
        told.append(str(refused.value).replace(name, ""))
    assert told[0] == told[1]
