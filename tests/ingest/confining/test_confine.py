"""A confined process can't do what it has no need of, and still does what it is for."""

import subprocess
import sys
from pathlib import Path

import pytest

from benanza_ingest.confining import landlock
from benanza_ingest.confining.confine import Confinement

pytestmark = pytest.mark.integration


def told(code: str, network: bool = False) -> str:
    """What a process prints after it confined itself."""
    begin = "from benanza_ingest.confining.confine import confine, in_force\n"
    command = [sys.executable, "-c", f"{begin}confine(network={network})\n{code}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_what_is_missing_is_told() -> None:
    assert Confinement(files=True, calls=True).missing() == ()
    assert len(Confinement(files=False, calls=False).missing()) == 2


def test_the_calls_of_another_architecture_are_no_way_round() -> None:
    """On x86-64, socket(2) has a second number."""
    code = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
number = 41 | 0x40000000 if platform.machine() == "x86_64" else 198
print(libc.syscall(number, 2, 1, 0), ctypes.get_errno())
"""
    assert told(code) == "-1 1"


def test_all_threads_have_lost_the_network() -> None:
    code = """
import socket, threading
def connect():
    try:
        socket.socket()
    except PermissionError:
        print("refused")
thread = threading.Thread(target=connect)
thread.start()
thread.join()
"""
    assert told(code) == "refused"


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_with_the_network_files_are_read_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("some")
    code = f"""
import socket, ssl
from pathlib import Path
print(Path("{tmp_path}/a").read_text(), socket.getaddrinfo("localhost", 80)[0][4][1])
ssl.create_default_context()
socket.socket()
try:
    Path("{tmp_path}/a").write_text("other")
except PermissionError:
    print("refused")
"""
    assert told(code, network=True).split() == ["some", "80", "refused"]


def test_modules_are_still_found() -> None:
    code = """
import benanza_ingest.extract, onnx.reference, numpy.linalg, encodings.idna
print(in_force() is not None)
"""
    assert told(code) == "True"


def test_memory_is_limited() -> None:
    code = """
try:
    bytearray(5 << 30)
except MemoryError:
    print("refused")
"""
    assert told(code) == "refused"
