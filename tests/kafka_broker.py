"""A Kafka broker for tests: real, on loopback, started by `deploy/kafka/run`."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from benanza_backbone.kafka.clients import AdminClient
from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.errors import COORDINATOR_AWAITED
from tests.shared import is_shared, made_once, shared_folder

RUN = Path(__file__).parents[1] / "deploy" / "kafka" / "run"
PATIENCE_S = 120.0
"""A cold start takes two seconds on an idle machine."""

GROUPS = 50
"""Among as many are some of all that a broker keeps together, or of most."""

_WITHOUT_FSYNC = ["eatmydata"] if shutil.which("eatmydata") else []
"""A broker awaits the disk for each partition that it makes. Where other tests keep the disk busy
that may take it longer than its clients wait; no test turns the machine off.

https://packages.debian.org/eatmydata
"""

_HEAP = "-Xmx2g"
"""All tests together make some 7,000 partitions. In half a gigabyte the collector then stops the
broker for seconds, again and again.
"""

_SHARED = "kafka"
_ARCHIVE = "classes.jsa"
_FORMATTED = ("bootstrap.checkpoint", "meta.properties")
"""What Kafka's tool writes to an empty disk, which takes it as long as a start."""


def lacking() -> str:
    """What of a broker this machine lacks, and how to get it; empty where nothing."""
    installed = subprocess.run([RUN, "--install"], capture_output=True, text=True)
    if installed.returncode == 0:
        return ""
    return f"no Kafka: {installed.stderr.strip()}, or name a broker in BENANZA_KAFKA"


def shared_broker() -> str:
    """The address of a broker that all of pytest's processes share, under names of their own."""
    return (made_once(_SHARED, _start_shared) / "bootstrap").read_text()


def _first_broker() -> Path:
    """The folder of a broker that was started once, which spares each other most of its start: it
    has a formatted disk, and its classes as Java 17 archives them.

    https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
    """

    def archive(folder: Path) -> None:
        broker = KafkaBroker(folder, f"-XX:ArchiveClassesAtExit={folder / _ARCHIVE}")
        broker.start()
        broker.stop()

    return made_once("kafka-classes", archive)


def _start_shared(folder: Path) -> None:
    broker = KafkaBroker(folder)
    broker.start()
    _await_coordinator(KafkaConnection(bootstrap=(broker.bootstrap,)))
    (folder / "bootstrap").write_text(broker.bootstrap)
    (folder / "pid").write_text(str(broker.pid))


def _await_coordinator(kafka: KafkaConnection) -> None:
    """Has the broker make what it keeps of groups, which for some seconds it knows nothing of."""
    deadline = time.monotonic() + PATIENCE_S
    with AdminClient(kafka) as admin:
        while True:
            try:
                admin.describe_groups([f"group-{number}" for number in range(GROUPS)])
                return
            except COORDINATOR_AWAITED:
                assert time.monotonic() < deadline
                time.sleep(0.1)


def end_shared_broker() -> None:
    """Ends that broker if it was started; nobody needs what it holds."""
    pid = shared_folder() / _SHARED / "pid"
    if pid.exists():
        os.killpg(int(pid.read_text()), signal.SIGKILL)


class KafkaBroker:
    """A broker over a folder. What it holds survives a restart, which keeps its port."""

    def __init__(self, folder: Path, java_option: str = "") -> None:
        self._folder = folder
        self._java_option = java_option
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def controller(self) -> str:
        """Where the broker talks to itself."""
        return f"127.0.0.1:{self._port + 1}"

    @property
    def pid(self) -> int:
        """Of its process, which leads a group."""
        assert self._process
        return self._process.pid

    def start(self) -> None:
        """Returns when the broker answers."""
        option = self._java_option
        if not option and is_shared():
            first = _first_broker()
            option = f"-XX:SharedArchiveFile={first / _ARCHIVE}"
            self._format(first / "log")
        self._process = subprocess.Popen(
            [*_WITHOUT_FSYNC, RUN, str(self._folder), str(self._port)],
            start_new_session=True,
            env=os.environ | {"JAVA_TOOL_OPTIONS": option, "KAFKA_HEAP_OPTS": _HEAP},
        )
        deadline = time.monotonic() + PATIENCE_S
        while True:
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (self._folder / "broker.log").read_text()
                raise RuntimeError(f"the broker doesn't start: {log[-2000:]}")
            try:
                with socket.create_connection(("127.0.0.1", self._port), timeout=1):
                    return
            except OSError:
                time.sleep(0.1)

    def _format(self, like: Path) -> None:
        """Formats its disk as another is, if it has none yet."""
        log = self._folder / "log"
        log.mkdir(parents=True, exist_ok=True)
        if not any((log / name).exists() for name in _FORMATTED):
            for name in _FORMATTED:
                shutil.copy(like / name, log)

    def status(self) -> int | None:
        """Its exit status, if it has ended by itself."""
        return self._process.poll() if self._process else None

    def send_signal(self, number: signal.Signals) -> None:
        """Sends it to the process."""
        assert self._process
        self._process.send_signal(number)

    def stop(self) -> None:
        """Lets the broker end in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends the broker without warning."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        os.killpg(self._process.pid, how)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._process = None


def free_port() -> int:
    """One that is free together with the next: that is the controller's.

    Below those that the system gives to clients, so that none has it while the broker is away.
    """
    while True:
        # Not by `random`, which pytest-randomly seeds alike in all of its processes.
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
            except OSError:
                continue
            return port
