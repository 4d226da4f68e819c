"""A download connects to the address that was checked, however often a name changes its address."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from benanza_backbone.model_sources import parse_sources
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import Allowed
from benanza_ingest.reading.source import fetch
from tests.backbone.certificates import certificate
from tests.ingest.reading.model_server import MODEL, model_server

LIMITS = Limits()


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The addresses of some names, one for each time that they are asked for; the last stays."""
    known: dict[str, list[str]] = {}
    real = socket.getaddrinfo

    def resolve(host: str, *arguments: Any, **named: Any) -> Any:
        if host in known:
            host = known[host].pop(0) if len(known[host]) > 1 else known[host][0]
        return real(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return known


@contextmanager
def redirecting(to: str) -> Iterator[str]:
    """The address of a server that sends everybody elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", to)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/m.onnx"
        server.shutdown()
        thread.join()


def allowing(text: str) -> Allowed:
    return Allowed(parse_sources(text))


def refusal(address: str, allowed: Allowed) -> str:
    with pytest.raises(ModelError) as refused:
        fetch(address, LIMITS, None, allowed)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_an_allowed_server_is_read() -> None:
    with model_server() as (address, _):
        found = fetch(f"{address}/models/small%20one.onnx", LIMITS, None, allowing(address))
        assert found.content == MODEL
        assert fetch(f"{address}/moved", LIMITS, None, allowing(address)).content == MODEL


def test_another_server_is_not_even_asked() -> None:
    with model_server() as (address, paths):
        why = refusal(f"{address}/models/small%20one.onnx", allowing("https://zoo.example"))
        assert f"ingest may not fetch from {address}; add it to BENANZA_MODEL_SOURCES" in why
        assert paths == []


def test_a_name_is_resolved_once(names: dict[str, list[str]]) -> None:
    """The second address, to which a name may change in between, is never connected to."""
    with model_server({"/m.onnx": MODEL}) as (address, paths):
        port = address.rpartition(":")[2]
        names["zoo.test"] = ["127.0.0.1", "169.254.169.254"]
        origin = f"http://zoo.test:{port}"
        assert fetch(f"{origin}/m.onnx", LIMITS, None, allowing(origin)).content == MODEL
        assert paths == ["/m.onnx"]
        assert "169.254.169.254, where there is no server" in refusal(
            f"{origin}/m.onnx", allowing(origin)
        )


def test_the_next_address_is_tried_where_nobody_answers() -> None:
    with model_server({"/m.onnx": MODEL}) as (address, _):
        port = address.rpartition(":")[2]
        # The server listens on IPv4 only, and this name has an IPv6 address too.
        assert fetch(f"http://localhost:{port}/m.onnx", LIMITS).content == MODEL


def test_a_redirect_leads_to_no_other_private_server() -> None:
    with (
        model_server({"/m.onnx": MODEL}) as (address, paths),
        redirecting(f"{address}/m.onnx") as at,
    ):
        for allowed in (Allowed(), allowing(f"{address},{at.removesuffix('/m.onnx')}")):
            assert f"redirects to {address}, which is at 127.0.0.1 in a private" in refusal(
                at, allowed
            )
        assert paths == []


def test_a_redirect_leads_to_no_server_that_is_not_allowed() -> None:
    with redirecting("https://elsewhere.example/m.onnx") as at:
        why = refusal(at, allowing(at.removesuffix("/m.onnx")))
        assert "ingest may not fetch from https://elsewhere.example; add it" in why


@pytest.mark.parametrize(
    "to", ["http://169.254.169.254/latest", "http://[fe80::1]/", "http://[::ffff:a9fe:a9fe]/"]
)
def test_a_redirect_leads_to_no_link_local_address(to: str) -> None:
    with redirecting(to) as at:
        assert "where there is no server of models" in refusal(at, Allowed())


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://zoo.example/m.onnx"])
def test_a_redirect_leads_to_web_servers_only(to: str) -> None:
    with redirecting(to) as at:
        assert "can't be fetched" in refusal(at, Allowed())


@pytest.mark.parametrize(
    "address", ["http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/"]
)
def test_other_spellings_of_a_link_local_address_are_no_way_round(address: str) -> None:
    why = refusal(f"{address}latest", Allowed())
    assert "where there is no server" in why or "can't be fetched (gaierror)" in why


def test_the_certificate_has_to_be_that_of_the_named_host(
    names: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, cert = certificate(tmp_path, "zoo")
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    names["zoo.test"] = ["127.0.0.1"]
    with model_server({"/m.onnx": MODEL}, tls=(cert, key)) as (address, _):
        port = address.rpartition(":")[2]
        assert fetch(f"https://127.0.0.1:{port}/m.onnx", LIMITS).content == MODEL
        why = refusal(f"https://zoo.test:{port}/m.onnx", Allowed())
        assert f"({ssl.SSLError.__name__})" in why
