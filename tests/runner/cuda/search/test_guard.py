"""A variant that ends its process is known to the next one."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benanza_runner.cuda.search.guard import Guard


def well(journal: Path | None) -> Guard:
    """One of a process in which CUDA works."""
    return Guard(journal, 60, lambda: None)


def run(script: str, journal: Path) -> int:
    """The status with which a process ends that runs this with the journal `p`."""
    imports = "from pathlib import Path\nfrom benanza_runner.cuda.search.guard import Guard\n"
    command = [sys.executable, "-c", f"{imports}p = {str(journal)!r}\n{script}"]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_what_ended_a_process_is_blocklisted_and_the_rest_is_not(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    script = (
        "g = Guard(Path(p), 60, int)\n"
        "with g.watching('good one'): pass\n"
        "with g.watching('bad one'): import os; os.abort()"
    )
    assert run(script, journal) != 0
    guard = well(journal)
    assert guard.blocklisted("bad one")
    assert not guard.blocklisted("good one")
    with guard.watching("another one"):
        pass
    again = well(journal)
    assert again.blocklisted("bad one")
    assert not again.blocklisted("another one")


def test_what_hangs_is_ended_and_blocklisted(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    script = "import time\nwith Guard(Path(p), 0.2, int).watching('endless one'): time.sleep(60)"
    started = time.monotonic()
    assert run(script, journal) != 0
    assert time.monotonic() - started < 30
    assert well(journal).blocklisted("endless one")


def test_the_time_until_the_device_is_free_does_not_count(tmp_path: Path) -> None:
    script = (
        "import contextlib, time\n"
        "@contextlib.contextmanager\n"
        "def busy():\n"
        "    time.sleep(1)\n"
        "    yield\n"
        "with Guard(Path(p), 0.3, int, busy()).running('one'): pass"
    )
    assert run(script, tmp_path / "journal") == 0


def test_without_a_journal_nothing_is_remembered() -> None:
    guard = well(None)
    with guard.watching("one"):
        pass
    assert not guard.blocklisted("one")


def illegal_access() -> None:
    """What waiting for the device does after one, each time."""
    raise RuntimeError("cudaErrorIllegalAddress: an illegal memory access was encountered")


def test_after_an_error_that_lasts_the_process_ends() -> None:
    """Whichever it is, and whoever noticed it first: a library names it in its own way."""
    with pytest.raises(SystemExit, match="illegal memory access"):
        Guard(None, 60, illegal_access).end_if_lasting(
            RuntimeError("CUDNN_STATUS_EXECUTION_FAILED")
        )
    well(None).end_if_lasting(RuntimeError("CUDNN_STATUS_NOT_SUPPORTED"))


def test_a_variant_that_makes_this_process_give_up_is_blocklisted(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    guard = Guard(journal, 60, illegal_access)
    with pytest.raises(SystemExit), guard.watching("noticed by who runs it"):
        guard.end_if_lasting(RuntimeError("refused"))
    assert well(journal).blocklisted("noticed by who runs it")
    with pytest.raises(SystemExit), guard.watching("noticed by nobody"):
        raise RuntimeError("refused")
    assert well(journal).blocklisted("noticed by nobody")


def test_a_variant_that_fails_is_not_blocklisted(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    guard = well(journal)
    with pytest.raises(RuntimeError, match="refused"), guard.watching("refused one"):
        raise RuntimeError("refused")
    assert not well(journal).blocklisted("refused one")
