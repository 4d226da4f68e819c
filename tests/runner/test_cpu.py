"""The processor, as files and py-cpuinfo describe it."""

import os
from pathlib import Path

import pytest

from benanza_runner import cpu


def test_this_one_has_a_name_and_cores() -> None:
    assert cpu.cpu_name().strip()
    assert 1 <= cpu.available_cores() <= (os.cpu_count() or 1)


def test_the_name_is_the_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    processors = tmp_path / "cpuinfo"
    processors.write_text("processor\t: 0\nmodel name\t: Abacus 9: wooden\nflags\t: none\n")
    monkeypatch.setattr(cpu, "PROCESSORS", processors)
    assert cpu.cpu_name() == "Abacus 9: wooden"


def test_the_name_where_the_kernel_says_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "PROCESSORS", tmp_path / "missing")
    monkeypatch.setattr("cpuinfo.get_cpu_info", lambda: {"brand_raw": "Abacus 10"})
    assert cpu.cpu_name() == "Abacus 10"
    monkeypatch.setattr("cpuinfo.get_cpu_info", dict)
    assert cpu.cpu_name()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux knows affinity")
class TestAvailableCores:
    @pytest.fixture(autouse=True)
    def machine(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Four cores of two threads each, and a control group without a quota."""
        for number in range(8):
            topology = tmp_path / f"cpu{number}" / "topology"
            topology.mkdir(parents=True)
            (topology / "thread_siblings_list").write_text(f"{number % 4},{number % 4 + 4}\n")
        monkeypatch.setattr(cpu, "CPU_FOLDER", tmp_path)
        monkeypatch.setattr(cpu, "QUOTA", tmp_path / "cpu.max")
        monkeypatch.setattr(os, "cpu_count", lambda: 8)
        self.allow(monkeypatch, set(range(8)))
        self.quota = tmp_path / "cpu.max"

    @staticmethod
    def allow(monkeypatch: pytest.MonkeyPatch, cpus: set[int]) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: cpus)

    def test_threads_of_one_core_count_once(self) -> None:
        assert cpu.available_cores() == 4
        assert cpu.processors_of_cores() == (0, 1, 2, 3)

    def test_affinity(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.allow(monkeypatch, {0, 4, 5})
        assert cpu.available_cores() == 2
        assert cpu.processors_of_cores() == (0, 5)

    @pytest.mark.parametrize(
        ("quota", "cores"),
        [("max 100000", 4), ("150000 100000", 2), ("10000 100000", 1), ("900000 100000", 4)],
    )
    def test_quota(self, quota: str, cores: int) -> None:
        self.quota.write_text(quota + "\n")
        assert cpu.available_cores() == cores

    def test_a_machine_that_tells_no_topology(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cpu, "CPU_FOLDER", tmp_path / "missing")
        assert cpu.available_cores() == 8
