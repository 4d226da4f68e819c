"""What Docker asks every few seconds: it starts little, and tells well from ill."""

import os
import re
import socket
import subprocess
from collections.abc import Iterator

import pytest

from benanza_backbone.service.status_server import Check, StatusServer
from tests.deploy.compose import OURS, ROOT, SERVICES
from tests.deploy.image import Dockerfile

LIGHT = {"bash", "wget"}

alive: list[Check] = []


def _of_service(name: str) -> list[str]:
    return Dockerfile(ROOT / SERVICES[name]["build"]["dockerfile"]).healthcheck


def _of_kafka() -> list[str]:
    how, *command = SERVICES["kafka"]["healthcheck"]["test"]
    assert how == "CMD"
    return [word.replace("$$", "$") for word in command]


def _well(command: list[str], port: int) -> bool:
    """Whether the check says so, as soon as it does, and within the time that it is given."""
    environment = os.environ | {"BENANZA_METRICS_PORT": str(port)}
    try:
        return subprocess.run(command, env=environment, check=False, timeout=5).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def test_none_starts_an_interpreter_or_a_java_machine() -> None:
    checks = [
        service["healthcheck"].get("test")
        for service in SERVICES.values()
        if "healthcheck" in service
    ]
    started = {check[1] for check in checks if check}
    started |= {_of_service(name)[0] for name in OURS}
    assert started == LIGHT


@pytest.fixture
def server() -> Iterator[StatusServer]:
    with StatusServer(0, lambda: (), liveness=lambda: alive) as server:
        yield server


@pytest.mark.parametrize("name", OURS)
def test_a_service_is_asked_whether_it_is_worth_keeping(
    name: str, server: StatusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(server.address.rpartition(":")[2])
    assert _well(_of_service(name), port)
    monkeypatch.setattr(f"{__name__}.alive", [Check("loop", False, "turned 99.0 s ago")])
    assert not _well(_of_service(name), port)
    server.close()
    assert not _well(_of_service(name), port)


def _at(command: list[str], bootstrap: str) -> list[str]:
    address = "/dev/tcp/" + bootstrap.replace(":", "/")
    script = re.sub(r"/dev/tcp/127\.0\.0\.1/\d+", address, command[-1])
    assert address in script
    return [*command[:-1], script]


def test_kafka_is_well_if_it_answers_a_request(kafka_bootstrap: str) -> None:
    assert _well(_at(_of_kafka(), kafka_bootstrap.split(",")[0]), 0)


def test_kafka_is_not_well_because_its_port_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        bootstrap = f"127.0.0.1:{silent.getsockname()[1]}"
        assert not _well(_at(_of_kafka(), bootstrap), 0)
    assert not _well(_at(_of_kafka(), bootstrap), 0)


def test_kafka_is_asked_where_it_listens() -> None:
    port = re.findall(r"INSIDE://:(\d+)", SERVICES["kafka"]["environment"]["KAFKA_LISTENERS"])
    assert re.findall(r"/dev/tcp/127\.0\.0\.1/(\d+)", _of_kafka()[-1]) == port
