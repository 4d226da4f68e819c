"""Whether oneDNN is there, and the errors of its C API."""

import ctypes.util
import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError

import pytest

from benanza_runner.cpu_libraries.installed import installed_libraries
from benanza_runner.cpu_libraries.onednn import binding
from benanza_runner.cpu_libraries.onednn.memory import strided


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The package isn't installed, and neither is another build."""

    def no_files(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(binding, "files", no_files)
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    _forget()
    yield monkeypatch
    _forget()


def _forget() -> None:
    binding._loaded.cache_clear()
    binding.why_unavailable.cache_clear()


def test_without_the_package_it_says_what_to_install(nothing_loaded: pytest.MonkeyPatch) -> None:
    assert "pip install 'benanza[cpu]'" in binding.why_unavailable()
    assert "onednn" not in [library.library for library in installed_libraries()]


def test_a_library_that_is_another_one_is_said(nothing_loaded: pytest.MonkeyPatch) -> None:
    nothing_loaded.setattr(ctypes.util, "find_library", lambda name: "/nowhere/libdnnl.so.3")
    assert "/nowhere/libdnnl.so.3" in binding.why_unavailable()


def test_other_processes_keep_their_own_waiting() -> None:
    before = os.environ.get(binding.SPINS)
    _forget()
    binding.why_unavailable()
    assert os.environ.get(binding.SPINS) == before


def test_a_refusal_says_which_function_and_why() -> None:
    if reason := binding.why_unavailable():
        pytest.skip(reason)
    onednn = binding.binding()
    with pytest.raises(binding.OneDnnError, match="create_with_strides: invalid arguments"):
        strided(onednn, (2, -3), binding.DataType.F32, (3, 1))
    with pytest.raises(binding.OneDnnError, match=r"version 3\..* has no dnnl_unheard"):
        onednn.call("dnnl_unheard")
