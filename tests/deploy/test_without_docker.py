"""docs/without-docker.md: what stands there starts everything, and ends with bounds."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.benanza.conftest import PROGRAM, environment
from tests.deploy.compose import ROOT
from tests.kafka_broker import free_port

TEXT = (ROOT / "docs" / "without-docker.md").read_text("utf-8")
START, LOOK, STOP = re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)


def test_it_starts_in_ten_lines() -> None:
    assert len((START + LOOK).splitlines()) <= 10


def _here(lines: str, folder: Path) -> str:
    """The lines with ports that are free, and servers that are here."""
    kafka, clickhouse = free_port(), free_port()
    assert "deploy/kafka/run\n" in (ROOT / "Makefile").read_text("utf-8")
    server = f"{sys.executable} -m tests.backbone.clickhouse.clickhouse_server"
    replaced = {
        "make kafka": f"deploy/kafka/run {folder}/kafka {kafka}",
        "mkdir -p data/clickhouse && cd data/clickhouse": f"mkdir -p {folder}/clickhouse",
        "clickhouse server >server.log": (
            f"{server} {folder}/clickhouse default '' {clickhouse} >{folder}/server.log"
        ),
        "127.0.0.1:9092": f"127.0.0.1:{kafka}",
        "127.0.0.1:8123/benanza": f"127.0.0.1:{clickhouse}/benanza?compress=false",
    }
    for old, new in replaced.items():
        assert lines.count(old) == 1, old
        lines = lines.replace(old, new)
    return re.sub(r"PORT=946\d", lambda _: f"PORT={free_port()}", lines)


@pytest.mark.integration
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("broker_can_start")
def test_its_lines_lead_to_bounds(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    variables["PATH"] = f"{PROGRAM.parent}:{variables['PATH']}"
    variables["PYTHONPATH"] = f"{ROOT}:{variables.get('PYTHONPATH', '')}"
    script = f"""
        set -e
        {_here(START, tmp_path)}
        until {LOOK.strip()} | tee /dev/stderr | grep --word-regexp full; do sleep 3; done
        {STOP}
    """
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as shell:
        try:
            said, _ = shell.communicate(timeout=600)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, said
    assert "made jobs" in said, said
    for service in ("ingest", "dedupe", "runner", "analyzer"):
        assert f"serving {service}:" in said, said
    assert re.search(r"^squeezenet +1 .* full *$", said, re.MULTILINE), said
