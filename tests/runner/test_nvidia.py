"""The GPU, where there is one."""

import ctypes
import math
from pathlib import Path

import pytest

from benanza_runner import nvidia
from benanza_runner.nvidia import NO_GPU, busy_ratio, gpu


def test_nothing_is_known_without_a_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> ctypes.CDLL:
        raise OSError(f"{name}: cannot open shared object file")

    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r-xp 00000000 08:01 42    /lib/libc.so.6\n7f02-7f03 rw-p 0 00:00 0\n"
    )
    monkeypatch.setattr(nvidia, "MAPS", maps)
    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert gpu() == NO_GPU


def test_what_it_says_of_this_machine() -> None:
    found = gpu()
    assert bool(found.name) == bool(found.driver)
    assert all(text == text.strip() for text in found)


def test_how_busy_it_is() -> None:
    ratio = busy_ratio()
    assert 0 <= ratio <= 1 if gpu().name else math.isnan(ratio)
