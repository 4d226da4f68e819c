"""A runner for each GPU: its processes, what they are told, and how they end."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from benanza.running.each_gpu import environments_of, named_gpus
from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection
from tests.benanza.conftest import PROGRAM
from tests.benanza.processes import Installation, until

Start = Callable[[str, int], "subprocess.Popen[str]"]


def test_all_are_those_that_cuda_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,GPU-5c0f")
    assert named_gpus("all") == ("2", "GPU-5c0f")
    assert named_gpus("0, 3,0") == ("0", "3")


@pytest.mark.parametrize("text", ["all", ",", ""])
def test_without_a_gpu_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(BenanzaError, match=r"no GPU is seen here: .* --gpus 0,1"):
        named_gpus(text)


def test_each_sees_its_own_gpu_has_its_own_port_and_a_share_of_the_machine() -> None:
    given = {"PATH": "/bin", "CUDA_VISIBLE_DEVICES": "0,1", "BENANZA_METRICS_PORT": "9464"}
    shared = {"PATH": "/bin", "BENANZA_RUNNERS": "2"}
    assert environments_of(("0", "1"), 9464, given) == {
        "0": shared | {"CUDA_VISIBLE_DEVICES": "0", "BENANZA_METRICS_PORT": "9464"},
        "1": shared | {"CUDA_VISIBLE_DEVICES": "1", "BENANZA_METRICS_PORT": "9465"},
    }
    free = environments_of(("0", "1"), 0, given)
    assert {each["BENANZA_METRICS_PORT"] for each in free.values()} == {"0"}


def _noted(folder: Path, gpu: str) -> list[dict[str, Any]]:
    file = folder / gpu
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def start(gpus: str, port: int) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tests.benanza.running.each_gpu_worker"]
        process = subprocess.Popen(
            [*command, str(tmp_path), gpus, str(port)], stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        until(lambda: all(_noted(tmp_path, gpu) for gpu in gpus.split(",")), every_s=0.05)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
    for file in tmp_path.iterdir():
        for noted in _noted(tmp_path, file.name):
            if "process" in noted and _alive(noted["process"]):
                os.kill(noted["process"], signal.SIGKILL)


@pytest.mark.integration
def test_there_is_one_for_each_and_a_signal_ends_them_all(start: Start, tmp_path: Path) -> None:
    gpus = start("0,1,GPU-5c0f", 9464)
    firsts = {gpu: _noted(tmp_path, gpu)[0] for gpu in ("0", "1", "GPU-5c0f")}
    assert [first["BENANZA_METRICS_PORT"] for first in firsts.values()] == ["9464", "9465", "9466"]
    assert {first["BENANZA_RUNNERS"] for first in firsts.values()} == {"3"}
    gpus.send_signal(signal.SIGTERM)
    assert gpus.wait(60) == 0
    for gpu, first in firsts.items():
        assert _noted(tmp_path, gpu) == [first, {"signal": signal.SIGTERM}]
        assert not _alive(first["process"])


@pytest.mark.integration
def test_each_signal_is_passed_on_once(start: Start, tmp_path: Path) -> None:
    gpus = start("0,slow", 0)
    gpus.send_signal(signal.SIGINT)
    until(lambda: len(_noted(tmp_path, "slow")) == 2, every_s=0.05)
    assert gpus.poll() is None
    gpus.send_signal(signal.SIGTERM)
    assert gpus.wait(60) == 0
    signals = [each["signal"] for each in _noted(tmp_path, "slow")[1:]]
    assert signals == [signal.SIGINT, signal.SIGTERM]
    assert [each["signal"] for each in _noted(tmp_path, "0")[1:]] == [signal.SIGINT]


@pytest.mark.integration
def test_one_that_ends_is_started_again_and_the_others_go_on(start: Start, tmp_path: Path) -> None:
    gpus = start("0,1", 9464)
    first, other = _noted(tmp_path, "0")[0], _noted(tmp_path, "1")[0]
    os.kill(first["process"], signal.SIGKILL)
    until(lambda: len(_noted(tmp_path, "0")) == 2, every_s=0.05)
    second = _noted(tmp_path, "0")[1]
    assert second["process"] != first["process"]
    assert second["BENANZA_METRICS_PORT"] == first["BENANZA_METRICS_PORT"]
    assert _noted(tmp_path, "1") == [other]
    assert _alive(other["process"])
    gpus.send_signal(signal.SIGTERM)
    _, said = gpus.communicate(timeout=60)
    assert gpus.returncode == 0, said
    assert "the runner on GPU 0 has ended with -9" in said


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_the_program_serves_with_as_many_runners(kafka: KafkaConnection, tmp_path: Path) -> None:
    """On the CPU, as there need be no GPU here: what is started is the same. At a precision that
    CPUs lack, so that their ceilings need no measuring.
    """
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment = Installation(kafka, tmp_path).environment() | paths
    arguments = ["serve", "runner", "--gpus", "0,1", "--runtime", "onnxruntime"]
    arguments += ["--precision", "tf32"]
    with subprocess.Popen(
        [PROGRAM, *arguments], env=environment, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as program:
        try:
            assert program.stdout
            lines = [program.stdout.readline() for _ in range(2)]
            addresses = [line.split()[-1] for line in lines]
            assert len(set(addresses)) == 2
            for address in addresses:
                until(lambda address=address: _ready(address))  # type: ignore[misc]
            program.send_signal(signal.SIGTERM)
            assert program.wait(150) == 0
            for address in addresses:
                with pytest.raises(urllib3.exceptions.HTTPError):
                    _ready(address)
        finally:
            program.kill()


def _ready(address: str) -> bool:
    return urllib3.request("GET", f"{address}/readyz", timeout=10, retries=False).status == 200
