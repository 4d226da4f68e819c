"""The status pages, as a probe or Prometheus asks for them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.status_server import Check, StatusServer

ready = [Check("log", True, "holds 8 partitions")]
alive: list[Check] = []


@pytest.fixture
def server() -> Iterator[StatusServer]:
    with StatusServer(0, lambda: ready, liveness=lambda: alive) as server:
        yield server


def ask(server: StatusServer, page: str) -> tuple[int, Any]:
    response = urllib3.request("GET", f"{server.address}{page}", timeout=10, retries=False)
    return response.status, json.loads(response.data)


def test_who_is_well_says_so(server: StatusServer) -> None:
    check = {"name": "log", "ok": True, "detail": "holds 8 partitions"}
    assert ask(server, "/readyz") == (200, {"ok": True, "checks": [check]})
    assert ask(server, "/healthz") == (200, {"ok": True, "checks": []})


def test_one_check_that_fails_is_enough(
    server: StatusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [*ready, Check("store", False, "no ClickHouse server answers")]
    monkeypatch.setattr(f"{__name__}.ready", checks)
    status, document = ask(server, "/readyz")
    assert (status, document["ok"]) == (503, False)
    assert [check["ok"] for check in document["checks"]] == [True, False]
    assert ask(server, "/healthz")[0] == 200
    monkeypatch.setattr(f"{__name__}.alive", [Check("loop", False, "turned 99.0 s ago")])
    assert ask(server, "/healthz")[0] == 503


def test_metrics_are_for_prometheus(server: StatusServer) -> None:
    response = urllib3.request("GET", f"{server.address}/metrics", timeout=10)
    assert response.status == 200
    assert response.headers["Content-Type"].startswith("text/plain; version=")
    assert b"\nbenanza_build_info{" in response.data


def test_the_address_itself_leads_to_a_page_for_people() -> None:
    checks = [Check("store", False, "no ClickHouse server answers")]
    with StatusServer(0, lambda: checks, liveness=lambda: alive, name="analyzer") as server:
        response = urllib3.request("GET", server.address, timeout=10)
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "script" not in response.headers["Content-Security-Policy"]
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    for text in (b"<h1>analyzer", b"not ready", b"no ClickHouse server answers"):
        assert text in response.data
    for page in (b"/metrics", b"/readyz", b"/healthz"):
        assert b"href=" + page in response.data


def test_other_pages_are_not_found(server: StatusServer) -> None:
    status, document = ask(server, "/other")
    assert status == 404
    assert document == {"pages": ["/", "/healthz", "/readyz", "/metrics"]}


def test_a_port_that_is_taken_is_named(server: StatusServer) -> None:
    port = int(server.address.rpartition(":")[2])
    with pytest.raises(BenanzaError, match=f"port {port} of .*BENANZA_METRICS_PORT"):
        StatusServer(port, lambda: ready)


def test_a_closed_server_gives_its_port_back() -> None:
    server = StatusServer(0, lambda: ready)
    port = int(server.address.rpartition(":")[2])
    server.close()
    server.close()
    StatusServer(port, lambda: ready).close()
