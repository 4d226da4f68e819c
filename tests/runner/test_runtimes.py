"""Runtimes by their names, and how long a runner may be at a job before it counts as hung."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings, load
from benanza_runner import runtimes
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits
from benanza_runner.runtimes import MOST_TRIES, longest_job_s, open_runtime, runtime_names

FAKE = """
from benanza_runner.isolation.isolated_runtime import IsolatedRuntime, WorkerLimits

def opened(settings):
    limits = WorkerLimits(layer_seconds=settings.benchmark_timeout_s)
    return IsolatedRuntime("tests.runner.fake_runtime:FakeRuntime", {"threads": 7}, limits)
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({"BENANZA_DATA": str(tmp_path / "data")})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with two runtimes, one of which needs what isn't there."""
    (tmp_path / "papers.py").write_text(FAKE, encoding="utf-8")
    info = tmp_path / "papers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: papers\nVersion: 1.0\n")
    points = "[benanza.runtimes]\npaper = papers:opened\nlost = nowhere_to_be_found:opened\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "papers", raising=False)
    return tmp_path


def test_a_runtime_of_another_package_is_found_by_its_entry_point(
    installed: Path, settings: Settings
) -> None:
    assert runtime_names() == ("auto", "cuda", "lost", "onnxruntime", "paper")
    with open_runtime("paper", settings) as runtime:
        assert (runtime.system().runtime, runtime.system().threads) == ("fake", 7)


def test_what_a_runtime_needs_is_named(installed: Path, settings: Settings) -> None:
    with pytest.raises(BenanzaError, match=r"^the runtime lost can't be loaded: .*nowhere_to_be"):
        open_runtime("lost", settings)


def test_an_installation_without_runtimes_says_what_to_do(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtimes, "entry_points", lambda **_: ())
    with pytest.raises(BenanzaError, match="no runtimes are installed; install benanza again"):
        open_runtime("auto", settings)


def test_a_runtime_that_is_not_installed(settings: Settings) -> None:
    with pytest.raises(BenanzaError, match=r"no runtime 'paper'; give auto or cuda or onn"):
        open_runtime("paper", settings)


@pytest.mark.skipif(not why_unavailable(), reason="there is a GPU here")
def test_without_a_gpu_onnx_runtime_is_the_best(settings: Settings) -> None:
    with open_runtime("auto", settings) as runtime:
        assert isinstance(runtime, IsolatedRuntime)
        assert runtime.system().runtime == "onnxruntime"
    with pytest.raises(BenanzaError, match=r"^the runtime cuda "):
        open_runtime("cuda", settings)


@pytest.mark.parametrize("timeout_s", [1, 60, 900])
def test_a_job_has_time_for_all_that_is_tried(timeout_s: int) -> None:
    longest = longest_job_s(load({"BENANZA_BENCHMARK_TIMEOUT_S": str(timeout_s)}))
    # A slow worker's tries are made again in another.
    assert longest > 2 * MOST_TRIES * timeout_s + WorkerLimits().ceilings_seconds
    assert WorkerLimits().tries <= MOST_TRIES


@pytest.mark.parametrize(
    ("cores", "memory_gb", "runners", "workers"),
    [(16, 100, 1, 8), (16, 100, 4, 2), (16, 20, 2, 2), (2, 100, 8, 1), (64, 1000, 8, 4)],
)
def test_runners_share_the_machine(
    cores: int,
    memory_gb: int,
    runners: int,
    workers: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtimes, "available_cores", lambda: cores)
    monkeypatch.setattr(runtimes, "free_bytes", lambda: memory_gb * 10**9)
    made: list[int] = []
    monkeypatch.setattr(runtimes, "WorkerPool", lambda _, number: made.append(number))
    runtimes.cuda_workers(tmp_path, WorkerLimits(), runners=runners)
    assert made == [workers]


def test_runners_on_a_cpu_that_share_a_data_folder_keep_journals_apart(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each writes the whole of its own, and takes what is running there for what ended it."""
    made: list[dict[str, object]] = []

    def opened(_: object, given: dict[str, object], __: object, turn: object) -> None:
        made.append(given)

    monkeypatch.setattr(runtimes, "IsolatedRuntime", opened)
    monkeypatch.setattr(runtimes, "device", lambda: "cpu")
    for _ in range(2):
        runtimes.open_onnxruntime(settings)
    one, other = (Path(str(given["journal"])) for given in made)
    assert one != other
    assert one.read_bytes() == other.read_bytes() == b""


def test_journals_of_runners_that_were_killed_are_removed(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another process has the id since; and nothing else: not those of processes that
    run or of other hosts, nor what only begins alike.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(runtimes, "IsolatedRuntime", lambda *_, **__: None)
    monkeypatch.setattr(runtimes, "device", lambda: "cpu")
    monkeypatch.setattr(runtimes, "gethostname", lambda: "a-host.a/b")
    prefix = f"{runtimes.CPU_JOURNAL}a-host.a_b-"
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    names = (
        f"{prefix}{ended.pid}-a_1",
        f"{prefix}{os.getpid()}-before",
        f"{prefix}{os.getpid()}-a_1",
        f"{prefix}abc",
        f"{prefix}{ended.pid}-a.txt",
        f"{runtimes.CPU_JOURNAL}a-host-{ended.pid}-a_1",
        f"{runtimes.CPU_JOURNAL}{ended.pid}-a_1",
    )
    left, before, *kept = (tmp_path / name for name in names)
    linked = tmp_path / f"{prefix}{ended.pid}-link"
    linked.symlink_to(kept[0])
    for path in (left, before, *kept):
        path.touch()
    os.utime(before, (0, 0))
    runtimes.open_onnxruntime(settings)
    assert not left.exists()
    assert not before.exists()
    assert all(path.exists() for path in (*kept, linked))
    (own,) = set(tmp_path.glob(f"{prefix}{os.getpid()}-*")) - set(kept)
    assert own.read_bytes() == b""
