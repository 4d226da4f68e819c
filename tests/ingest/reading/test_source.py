"""A model is fetched from where it is said to be, or one line says why not."""

import hashlib
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from onnx import TensorProto, helper

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading import download
from benanza_ingest.reading.parse import parse
from benanza_ingest.reading.source import fetch, read_whole
from tests.ingest.onnx_text import proto
from tests.ingest.reading.model_server import MODEL, model_server

LIMITS = Limits(model_bytes=1000)


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, list[str]]]:
    with model_server() as found:
        yield found


def refusal(model: str, sha256: str | None = None) -> str:
    with pytest.raises(ModelError) as refused:
        fetch(model, LIMITS, sha256)
    text = str(refused.value)
    assert "\n" not in text
    assert len(text) < 1000
    return text


def test_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my model.onnx").write_bytes(MODEL)
    found = fetch(str(tmp_path / "my model.onnx"), LIMITS)
    assert (found.name, found.content) == ("my model", MODEL)
    assert found.sha256 == hashlib.sha256(MODEL).hexdigest()
    assert found.uri == (tmp_path / "my model.onnx").as_uri()
    monkeypatch.chdir(tmp_path)
    assert fetch("my model.onnx", LIMITS) == found, "the address holds elsewhere too"
    assert fetch(found.uri, LIMITS) == found
    assert fetch(found.uri.replace("file://", "file://localhost"), LIMITS) == found


def test_a_small_file_takes_little_memory_whatever_the_limit(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(MODEL)
    assert fetch(str(tmp_path / "m.onnx"), Limits(model_bytes=2**60)).content == MODEL


def test_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.onnx")
    with ThreadPoolExecutor() as threads:
        found = threads.submit(fetch, str(tmp_path / "m.onnx"), LIMITS)
        (tmp_path / "m.onnx").write_bytes(MODEL)
    assert found.result().content == MODEL


def test_a_name_of_the_zoo() -> None:
    found = fetch("zoo:squeezenet", Limits())
    assert (found.name, found.uri) == ("squeezenet", "zoo:squeezenet")
    assert len(found.content) > 1000


def test_an_address(server: tuple[str, list[str]]) -> None:
    address, paths = server
    found = fetch(f"{address}/models/small%20one.onnx", LIMITS)
    assert (found.name, found.content) == ("small one", MODEL)
    assert found.uri == f"{address}/models/small%20one.onnx"
    assert paths[-1] == "/models/small%20one.onnx"


def test_an_address_that_moved(server: tuple[str, list[str]]) -> None:
    assert fetch(f"{server[0]}/moved", LIMITS).content == MODEL


def test_the_right_checksum_in_either_case(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(MODEL)
    right = hashlib.sha256(MODEL).hexdigest()
    for written in (right, right.upper()):
        assert fetch(str(tmp_path / "m.onnx"), LIMITS, written).sha256 == right


def test_a_wrong_checksum(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(MODEL)
    why = refusal(str(tmp_path / "m.onnx"), "0" * 64)
    assert f"has the SHA-256 {hashlib.sha256(MODEL).hexdigest()}, not {'0' * 64}" in why
    assert "fetch it again, or publish it with its new checksum" in why


@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("no/such/model.onnx", "there is no file no/such/model.onnx; `benanza zoo` lists"),
        ("alexnet", "there is no file alexnet; say zoo:alexnet"),
        ("timm:levit_192", "there is no file timm:levit_192; say zoo:timm:levit_192"),
        ("", "the model's name is empty; give a path, an address or zoo:NAME"),
        ("/", "/ is a folder; name the .onnx file in it"),
        ("x" * 500, "can't be read: File name too long"),
        ("nul\0byte", "control characters"),
        ("two\nlines.onnx", "control characters"),
        ("file://elsewhere/m.onnx", "names the host elsewhere; write file:///PATH"),
        ("file://[oops", "is no address (Invalid IPv6 URL); check its spelling"),
        ("http://[oops", "is no address (Invalid IPv6 URL)"),
        ("http://", "can't be fetched"),
        ("http:///m.onnx", "can't be fetched"),
        ("http://a b/m.onnx", "can't be fetched"),
        ("http://127.0.0.1:99999/m.onnx", "can't be fetched"),
        ("zoo:resnet51", "no model 'resnet51' in the zoo; did you mean zoo:resnet50 or"),
        ("zoo:quux", "no model 'quux' in the zoo; it has alexnet, densenet121"),
    ],
)
def test_where_there_is_no_model(model: str, complaint: str) -> None:
    assert complaint in refusal(model)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(bytes(1000))
    assert len(fetch(str(tmp_path / "m.onnx"), LIMITS).content) == 1000
    (tmp_path / "m.onnx").write_bytes(bytes(1001))
    why = refusal(str(tmp_path / "m.onnx"))
    assert "is larger than 1,000 bytes; keep its weights as external data" in why
    assert "raise BENANZA_MAX_MODEL_BYTES" in why


def test_a_port_where_nobody_answers() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    why = refusal(f"http://127.0.0.1:{port}/m.onnx")
    assert "can't be fetched (NewConnectionError); check the address and the network" in why


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/nowhere.onnx", "answers 404; check the address"),
        ("/large", "is larger than 1,000 bytes"),
        ("/endless", "is larger than 1,000 bytes"),
        ("/cut-off", "can't be fetched"),
        ("/garbage", "can't be fetched"),
        ("/round-and-round", "redirects more than 5 times; check the address"),
    ],
)
def test_a_server_that_answers_badly(
    server: tuple[str, list[str]], path: str, complaint: str
) -> None:
    assert complaint in refusal(server[0] + path)


@pytest.mark.parametrize("path", ["/silent", "/silent-body"])
def test_a_server_that_falls_silent(
    server: tuple[str, list[str]], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "READ_SECONDS", 0.1)
    started = time.perf_counter()
    assert "can't be fetched (ReadTimeoutError)" in refusal(server[0] + path)
    assert time.perf_counter() - started < 20


def test_a_server_that_never_ends(
    server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sends a byte now and then, so that it is never silent for long."""
    monkeypatch.setattr(download, "TOTAL_SECONDS", 0.3)
    started = time.perf_counter()
    why = refusal(server[0] + "/trickle")
    assert "takes longer than 0 s; download the file by other means" in why
    assert time.perf_counter() - started < 20


def large_model() -> bytes:
    """A model with more bytes of weights than are kept."""
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1 << 21], bytes(1 << 23), raw=True)
    model = proto("g (float[2,3] x) => (y) { y = Relu(x) }")
    model.graph.initializer.append(weight)
    return model.SerializeToString()


def test_of_a_large_model_the_weights_are_not_kept(tmp_path: Path) -> None:
    encoded = large_model()
    (tmp_path / "m.onnx").write_bytes(encoded)
    found = fetch(str(tmp_path / "m.onnx"), Limits())
    assert not found.whole
    assert len(found.content) < 1000
    assert found.sha256 == hashlib.sha256(encoded).hexdigest()
    assert parse(found.content, Limits()) == parse(encoded, Limits())


def test_a_large_file_that_was_cut_off_has_the_wrong_checksum_first(tmp_path: Path) -> None:
    encoded = large_model()
    (tmp_path / "m.onnx").write_bytes(encoded[:-1000])
    with pytest.raises(ModelError, match="was changed or cut off"):
        fetch(str(tmp_path / "m.onnx"), Limits(), hashlib.sha256(encoded).hexdigest())
    with pytest.raises(ModelError, match="not an ONNX model"):
        fetch(str(tmp_path / "m.onnx"), Limits())


def test_a_listing_may_be_large_and_is_read_whole(tmp_path: Path) -> None:
    text = b"[" + b" " * (1 << 23) + b"]"
    (tmp_path / "l.json").write_bytes(text)
    assert read_whole(str(tmp_path / "l.json"), Limits()) == text
    with pytest.raises(ModelError, match="larger than 1,000 bytes"):
        read_whole(str(tmp_path / "l.json"), LIMITS)


def test_what_names_no_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for asked in ("file:///tmp/a%00b", str(tmp_path / "a")):
        assert asked in refusal(asked)


def test_too_many_fields_come_after_the_wrong_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benanza_ingest.reading.strip.MAX_FIELDS", 100_000)
    monkeypatch.setattr("benanza_ingest.reading.source.STRIPPED_FROM_BYTES", 1000)
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08" * 300_000)
    with pytest.raises(ModelError, match="was changed or cut off"):
        fetch(str(tmp_path / "m.onnx"), Limits(), "0" * 64)
    with pytest.raises(ModelError, match="more than 100,000 fields"):
        fetch(str(tmp_path / "m.onnx"), Limits())
