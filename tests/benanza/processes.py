"""Services and ClickHouse as processes of their own, to be asked, stopped and killed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import urllib3

from benanza_backbone.closing import Closing
from benanza_backbone.kafka.connection import KafkaConnection
from tests.benanza.conftest import PROGRAM, environment

PATIENCE_S = 150.0
EVERY_S = 0.3
"""Often enough; what is asked costs the services their time."""

USER, PASSWORD = "benanza", "secret"


def until(so: Callable[[], bool], patience_s: float = PATIENCE_S, every_s: float = EVERY_S) -> None:
    """Returns when it is so; fails if it doesn't become so in time."""
    deadline = time.monotonic() + patience_s
    while not so():
        assert time.monotonic() < deadline
        time.sleep(every_s)


class Process(Closing):
    """A process that prints one line when it is up. Its errors are kept in a file."""

    def __init__(self, command: Iterable[str | Path], env: dict[str, str], folder: Path) -> None:
        self._errors = tempfile.TemporaryFile("w+", dir=folder)  # noqa: SIM115  # closed by close
        self._process = subprocess.Popen(
            list(command), stdout=subprocess.PIPE, stderr=self._errors, text=True, env=env
        )
        assert self._process.stdout
        self.first_line = self._process.stdout.readline().strip()
        assert self.first_line, self.errors()

    @property
    def pid(self) -> int:
        return self._process.pid

    def status(self) -> int | None:
        """Its exit status, if it has ended."""
        return self._process.poll()

    def errors(self) -> str:
        """What it has written to standard error."""
        self._errors.seek(0)
        return self._errors.read()

    def send_signal(self, number: signal.Signals) -> None:
        """Sends it to the process."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Ends it without a word."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> int:
        """Asks it to end; its exit status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE_S)

    def close(self) -> None:
        self.kill()
        if self._process.stdout:
            self._process.stdout.close()
        self._errors.close()


class ServiceProcess(Process):
    """`benanza serve SERVICE`, or another command that does the same."""

    @property
    def address(self) -> str:
        """Of its status pages."""
        return self.first_line.rpartition(" ")[2]

    def page(self, page: str) -> tuple[int, Any]:
        response = self._asked_for(page)
        return response.status, json.loads(response.data)

    def ready(self) -> bool:
        return self.page("/readyz")[0] == 200

    def metric(self, sample: str) -> float:
        """The value of a sample, written as on the page of metrics."""
        text = self._asked_for("/metrics").data.decode()
        return next(
            float(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith(f"benanza_{sample} ")
        )

    def _asked_for(self, page: str) -> urllib3.BaseHTTPResponse:
        """Its answer. Fails with what the service has said if there is none."""
        try:
            return urllib3.request(
                "GET", f"{self.address}{page}", timeout=PATIENCE_S, retries=False
            )
        except urllib3.exceptions.HTTPError as error:
            raise AssertionError(f"{error}\n{self.errors()}") from error


class Installation:
    """What the services of one installation are told by their environment."""

    def __init__(self, kafka: KafkaConnection, folder: Path) -> None:
        self.folder = folder
        self.kafka = kafka
        self.clickhouse_port = 0

    @property
    def clickhouse(self) -> str:
        return f"clickhouse://{USER}:{PASSWORD}@127.0.0.1:{self.clickhouse_port}?compress=false"

    def environment(self) -> dict[str, str]:
        return environment(self.folder) | {
            "BENANZA_KAFKA": ",".join(self.kafka.bootstrap),
            "BENANZA_KAFKA_PREFIX": self.kafka.prefix,
            "BENANZA_KAFKA_SECURITY_PROTOCOL": self.kafka.security_protocol,
            "BENANZA_KAFKA_SECURITY_CA_FILE": self.kafka.ca_file,
            "BENANZA_KAFKA_SECURITY_CERT_FILE": self.kafka.cert_file,
            "BENANZA_KAFKA_SECURITY_KEY_FILE": self.kafka.key_file,
            "BENANZA_KAFKA_SECURITY_USERNAME": self.kafka.sasl_username,
            "BENANZA_KAFKA_SECURITY_PASSWORD": self.kafka.sasl_password,
            "BENANZA_CLICKHOUSE": self.clickhouse,
            "BENANZA_DATA": str(self.folder / "data"),
            "BENANZA_METRICS_PORT": "0",
            "BENANZA_MODEL_SOURCES": f"http://127.0.0.1:9,{self.folder.as_uri()}",
            "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")]),
        }

    def start_clickhouse(self) -> Process:
        """The server, over the same folder and at the same port each time."""
        command = [sys.executable, "-m", "tests.backbone.clickhouse.clickhouse_server"]
        command += [str(self.folder / "clickhouse"), USER, PASSWORD, str(self.clickhouse_port)]
        server = Process(command, dict(os.environ), self.folder)
        self.clickhouse_port = int(server.first_line)
        return server

    def start(self, *service: str) -> ServiceProcess:
        """`benanza serve` this."""
        return ServiceProcess([PROGRAM, "serve", *service], self.environment(), self.folder)

    def start_runner(self) -> ServiceProcess:
        """A runner whose measurements follow from the layers."""
        command = [sys.executable, "-m", "tests.benanza.hashed_runtime"]
        return ServiceProcess(command, self.environment(), self.folder)
