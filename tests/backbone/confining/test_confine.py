"""A confined process can't do what it has no need of, and still does what it is for."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benanza_backbone.confining import landlock
from benanza_backbone.confining.confine import PRINTED_BYTES, Confinement

pytestmark = pytest.mark.integration


def told(code: str, network: bool = False, child: bool = False) -> str:
    """What a process prints after it confined itself."""
    lines = (
        "import os",
        "from pathlib import Path",
        "from benanza_backbone.confining import readable",
        "from benanza_backbone.confining.confine import confine, confine_child",
        "paths = [*readable.of_program()]",
        f"found = confine(paths + [Path('/')] if {network} else paths, {network})",
        f"if {child}: confine_child(os.getppid(), {network})",
        code,
    )
    command = [sys.executable, "-c", "\n".join(lines)]
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


@pytest.mark.parametrize("child", [False, True])
def test_modules_are_still_found_and_threads_started(child: bool) -> None:
    code = """
import faulthandler, gc, lzma, threading, time
faulthandler.enable()
import benanza_ingest.extract, onnx.reference.ops, numpy.linalg, numpy.random, encodings.idna
thread = threading.Thread(target=lambda: lzma.decompress(lzma.compress(bytes(1 << 20))))
thread.start()
thread.join()
time.sleep(0.001)
many = [bytes(100) for _ in range(1_000_000)]
del many
gc.collect()
print(numpy.random.default_rng().random() < 1)
"""
    assert told(code, child=child) == "True"


def test_a_child_ends_with_its_parent_only_if_that_is_there() -> None:
    code = "confine_child(1 << 22, False)\nprint('lives')"
    with pytest.raises(subprocess.CalledProcessError) as caught:
        told(code)
    assert (caught.value.returncode, caught.value.stdout) == (1, "")


def test_memory_is_limited() -> None:
    code = """
try:
    bytearray(5 << 30)
except MemoryError:
    print("refused")
"""
    assert told(code) == "refused"


def test_what_is_printed_is_limited() -> None:
    code = (
        "import os; from benanza_backbone.confining.confine import confine; confine([], False); "
        "os.write(1, bytes(1 << 20)); os.write(1, b'x')"
    )
    with tempfile.TemporaryFile() as file:
        ended = subprocess.run(
            [sys.executable, "-c", code], check=False, stdout=file, stderr=subprocess.PIPE
        )
        assert b"File too large" in ended.stderr
        assert file.seek(0, 2) == PRINTED_BYTES
