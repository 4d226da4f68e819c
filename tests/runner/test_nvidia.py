"""The GPU, where there is one."""

import ctypes
from pathlib import Path

import pytest

from benanza_runner import nvidia
from benanza_runner.nvidia import NO_GPU, gpu, visible, visible_gpus


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


def test_cudnn_of_two_installations_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    maps = tmp_path / "maps"
    monkeypatch.setattr(nvidia, "MAPS", maps)
    line = "7f00-7f01 r-xp 00000000 08:01 42    {}\n"
    own = ["/venv/nvidia/cudnn/lib/libcudnn.so.9", "/venv/nvidia/cudnn/lib/libcudnn_graph.so.9"]
    maps.write_text("".join(map(line.format, [*own, "/lib/libc.so.6"])))
    assert nvidia.mixed_cudnn() == ""
    maps.write_text("".join(map(line.format, [*own, "/usr/lib/libcudnn_ops.so.9"])))
    assert "from /venv/nvidia/cudnn/lib and /usr/lib: leave one" in nvidia.mixed_cudnn()


def test_what_it_says_of_this_machine() -> None:
    found = gpu()
    assert bool(found.name) == bool(found.driver)
    assert all(text == text.strip() for text in found)


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("devices", "name"),
    [
        (None, "NVIDIA GPU 0"),
        ("0", "NVIDIA GPU 0"),
        ("1", "NVIDIA GPU 1"),
        ("1,0", "NVIDIA GPU 1"),
        ("GPU-2", "NVIDIA GPU 1"),
        ("GPU-10000000-0000", "NVIDIA GPU 0"),
        ("MIG-5/1/0", "NVIDIA GPU 1"),
        ("MIG-6", ""),
        ("2", ""),
        ("GPU-3", ""),
        ("-1", ""),
        ("", ""),
    ],
)
def test_it_is_the_gpu_that_cuda_counts_first(
    monkeypatch: pytest.MonkeyPatch, devices: str | None, name: str
) -> None:
    if devices is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
    assert gpu().name == name
    assert bool(visible()) == (devices not in ("", "-1"))


@pytest.mark.usefixtures("two_gpus")
@pytest.mark.parametrize(
    ("devices", "gpus"),
    [
        (None, ("0", "1")),
        ("1", ("1",)),
        ("1, 0,1", ("1", "0")),
        ("GPU-2,MIG-5/1/0", ("GPU-2", "MIG-5/1/0")),
        ("0,-1,1", ("0",)),
        ("", ()),
    ],
)
def test_every_gpu_that_cuda_sees_is_named(
    monkeypatch: pytest.MonkeyPatch, devices: str | None, gpus: tuple[str, ...]
) -> None:
    if devices is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", devices)
    assert visible_gpus() == gpus
