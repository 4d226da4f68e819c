"""A variant that ends its process is known to the next one."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benanza_runner.cuda.guard import Guard, end_if_fatal


def run(script: str, journal: Path) -> int:
    """The status with which a process ends that runs this with the journal `p`."""
    imports = "from pathlib import Path\nfrom benanza_runner.cuda.guard import Guard\n"
    command = [sys.executable, "-c", f"{imports}p = {str(journal)!r}\n{script}"]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_what_ended_a_process_is_condemned_and_the_rest_is_not(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    script = (
        "g = Guard(Path(p), 60)\n"
        "with g.watching('good one'): pass\n"
        "with g.watching('bad one'): import os; os.abort()"
    )
    assert run(script, journal) != 0
    guard = Guard(journal, 60)
    assert guard.condemned("bad one")
    assert not guard.condemned("good one")
    with guard.watching("another one"):
        pass
    again = Guard(journal, 60)
    assert again.condemned("bad one")
    assert not again.condemned("another one")


def test_what_hangs_is_ended_and_condemned(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    script = "import time\nwith Guard(Path(p), 0.2).watching('endless one'): time.sleep(60)"
    started = time.monotonic()
    assert run(script, journal) != 0
    assert time.monotonic() - started < 30
    assert Guard(journal, 60).condemned("endless one")


def test_without_a_journal_nothing_is_remembered() -> None:
    guard = Guard(None, 60)
    with guard.watching("one"):
        pass
    assert not guard.condemned("one")


def test_after_an_illegal_access_the_process_ends() -> None:
    message = "cudaErrorIllegalAddress: an illegal memory access was encountered"
    with pytest.raises(SystemExit, match="illegal memory access"):
        end_if_fatal(RuntimeError(message))
    end_if_fatal(RuntimeError("CUDNN_STATUS_NOT_SUPPORTED"))


def test_a_variant_that_makes_this_process_give_up_is_condemned(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    guard = Guard(journal, 60)
    with pytest.raises(SystemExit), guard.watching("illegal one"):
        end_if_fatal(RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS"))
    assert Guard(journal, 60).condemned("illegal one")


def test_a_variant_that_fails_is_not_condemned(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    guard = Guard(journal, 60)
    with pytest.raises(RuntimeError, match="refused"), guard.watching("refused one"):
        raise RuntimeError("refused")
    assert not Guard(journal, 60).condemned("refused one")
