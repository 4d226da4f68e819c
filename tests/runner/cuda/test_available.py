"""Whether there is a GPU runtime, and what to do about it if there isn't."""

from importlib.machinery import ModuleSpec

import pytest

from benanza_runner import nvidia
from benanza_runner.cuda import available
from benanza_runner.cuda.available import MODULES, why_unavailable
from benanza_runner.nvidia import NO_GPU, Gpu


def test_without_a_gpu_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "gpu", lambda: NO_GPU)
    assert "needs an NVIDIA GPU" in (why_unavailable() or "")


def test_it_says_which_gpu_was_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "gpu", lambda: NO_GPU)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert "CUDA_VISIBLE_DEVICES" not in (why_unavailable() or "")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    assert (why_unavailable() or "").endswith("CUDA_VISIBLE_DEVICES=7 names")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "gpu", lambda: Gpu(name="NVIDIA H200"))
    monkeypatch.setattr(available, "find_spec", lambda name: None)
    reason = why_unavailable() or ""
    assert all(name in reason for name in MODULES)
    assert "pip install 'benanza[cuda]'" in reason


def test_with_both_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "gpu", lambda: Gpu(name="NVIDIA H200"))
    monkeypatch.setattr(available, "find_spec", lambda name: ModuleSpec(name, None))
    assert why_unavailable() is None


def test_a_part_of_a_missing_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "gpu", lambda: Gpu(name="NVIDIA H200"))
    monkeypatch.setattr(available, "MODULES", ("no_such_package.bindings", "json"))
    assert "lacks no_such_package.bindings; say" in (why_unavailable() or "")
