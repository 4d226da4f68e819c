"""Copies on GPUs: which are held. Memory of the host stands for a GPU's."""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from benanza.weights.gpu import GpuTier
from benanza.weights.memory import SealedMemory
from benanza.weights.server import WeightServer
from benanza.weights.store import WeightStore
from benanza_backbone.errors import BenanzaError
from benanza_backbone.weights import lease
from benanza_backbone.weights.gpu_memory import GpuMemoryError
from benanza_backbone.weights.lease import LeaseError, leased
from benanza_backbone.weights.on_gpu import gpu_arrays
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import ANYWHERE
from tests.benanza.weights.models import product_model, saved, weight


def export(address: int, size: int, _gpu: str) -> int:
    file = os.memfd_create("on-gpu")
    os.pwrite(file, ctypes.string_at(address, size), 0)
    return file


def memory(byte: int) -> SealedMemory:
    return SealedMemory.filled(lambda write: write(bytes([byte]) * 10))


@pytest.fixture
def tier() -> Iterator[GpuTier]:
    with GpuTier(25, export) as made:
        yield made


def test_a_copy_is_made_once_for_each_gpu(tier: GpuTier) -> None:
    with memory(1) as one:
        with tier.lease("a", one) as first, tier.lease("a", one) as again:
            assert (first.was_there, again.was_there) == (False, True)
            assert first.file == again.file
            assert os.pread(first.file, 20, 0) == b"\1" * 10
        with tier.lease("b", one) as other:
            assert not other.was_there


def test_what_is_not_leased_goes_when_room_lacks_there(tier: GpuTier) -> None:
    one, two, three = memory(1), memory(2), memory(3)
    with tier.lease("a", one):
        for each in (two, three):
            with tier.lease("a", each):
                pass
        with tier.lease("a", one) as still, tier.lease("a", two) as anew:
            assert still.was_there
            assert not anew.was_there
            with pytest.raises(BenanzaError, match="--gpu-memory"), tier.lease("a", three):
                pass
            with tier.lease("b", three):
                pass
    for each in (one, two, three):
        each.close()


def test_a_copy_that_cannot_be_made_is_the_error_that_is_told() -> None:
    """It was told that a mapping can't be closed."""

    def fails(*_: object) -> int:
        raise GpuMemoryError("the GPU has no room")

    with (
        GpuTier(25, fails) as tier,
        memory(1) as one,
        pytest.raises(GpuMemoryError, match="the GPU has no room"),
        tier.lease("a", one),
    ):
        pass


def test_closed_it_has_nothing_open() -> None:
    before = set(map(str, Path("/proc/self/fd").iterdir()))
    with GpuTier(100, export) as tier, memory(1) as one, tier.lease("a", one):
        pass
    assert set(map(str, Path("/proc/self/fd").iterdir())) == before


class HostMapping:
    """What stands for a mapping on a GPU."""

    def __init__(self, file: int, size: int) -> None:
        self._content = ctypes.create_string_buffer(os.pread(file, size, 0), size)
        self.address = ctypes.addressof(self._content)

    def __enter__(self) -> "HostMapping":
        return self

    def __exit__(self, *_: object) -> None:
        self.address = 0


def test_a_tenant_gets_the_copy_that_it_names(
    store: WeightStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = saved(product_model(), tmp_path / "m.onnx")
    monkeypatch.setattr(lease, "_uuid_of", lambda gpu: f"uuid{gpu}")
    monkeypatch.setattr(lease, "_imported", lambda file, size, _: HostMapping(file, size))
    socket = tmp_path / "weights.sock"
    with (
        GpuTier(1_000_000, export) as tier,
        WeightServer(socket, store, allowed=ANYWHERE, limits=Limits(), gpus=tier),
    ):
        tiers = []
        for gpu in (0, 0, 1):
            with leased(model, socket=socket, gpu=gpu) as weights:
                tiers.append(weights.tier)
                here = gpu_arrays(weights)["a"]
                wanted = weight(product_model(), "a")
                assert ctypes.string_at(here.address, wanted.nbytes) == wanted.tobytes()
                assert here.__cuda_array_interface__["shape"] == wanted.shape
                assert here.__cuda_array_interface__["typestr"] == "<f4"
        assert tiers == ["source", "gpu", "memory"]
        with leased(model, socket=socket) as weights, pytest.raises(LeaseError, match="gpu=0"):
            gpu_arrays(weights)


def test_a_store_without_gpus_says_so(
    socket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_uuid_of", lambda gpu: f"uuid{gpu}")
    model = saved(product_model(), tmp_path / "m.onnx")
    with pytest.raises(LeaseError, match="--gpu-memory"), leased(model, socket=socket, gpu=0):
        pass


def test_without_the_extra_it_says_what_to_install(socket: Path, tmp_path: Path) -> None:
    try:
        import cuda.bindings.driver  # noqa: F401
    except ImportError:
        model = saved(product_model(), tmp_path / "m.onnx")
        with (
            pytest.raises(BenanzaError, match=r"benanza\[cuda\]"),
            leased(model, socket=socket, gpu=0),
        ):
            pass
    else:
        pytest.skip("the extra cuda is installed")
