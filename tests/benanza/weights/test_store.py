"""What is held, loaded once, given up, and brought back."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from time import monotonic, sleep

import pytest

from benanza.weights import store as store_module
from benanza.weights.disk import DiskTier
from benanza.weights.memory import SealedMemory
from benanza.weights.sources import WeightSource
from benanza.weights.store import NoRoomError, WeightStore
from benanza_backbone.errors import BenanzaError
from benanza_backbone.telemetry import REGISTRY
from benanza_backbone.weights.packed import PackedWriter, Write
from benanza_ingest.errors import ModelError

SIZE = 1000
PACKED = SIZE + 200


class Made(WeightSource):
    """Weights that are all this byte."""

    def __init__(self, key: str | None, byte: int = 0, size: int = SIZE) -> None:
        self.key = key
        self.byte = byte
        self.size = size
        self.loads = 0
        self.before: Callable[[], object] = lambda: None

    def fill(self, write: Write) -> None:
        self.loads += 1
        self.before()
        writer = PackedWriter(write)
        parts = [bytes([self.byte]) * self.size]
        writer.finish([writer.add("w", 2, (self.size,), parts)], b"model", "0" * 64)


def content(memory: SealedMemory) -> bytes:
    with memory.mapped() as mapped:
        return mapped[:SIZE]


def tier(store: WeightStore, source: WeightSource) -> str:
    """Where it was."""
    with store.lease(source) as leased:
        assert content(leased.memory) == bytes([source.byte]) * SIZE  # type: ignore[attr-defined]
        return leased.tier


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"benanza_weights_{name}", labels) or 0.0


def saved(disk: DiskTier, models: int) -> None:
    deadline = monotonic() + 5
    while disk.used_bytes < models * SIZE:
        assert monotonic() < deadline
        sleep(0.005)


def test_what_many_ask_for_is_loaded_once() -> None:
    source = Made("key")
    together, slow = Barrier(8), Event()
    source.before = lambda: slow.wait(5)

    def ask(_: int) -> str:
        together.wait()
        return tier(store, source)

    with WeightStore(PACKED) as store, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, number) for number in range(8)]
        slow.set()
        assert sorted(each.result() for each in asked) == ["memory"] * 7 + ["source"]
    assert source.loads == 1


def test_nobody_waits_for_a_load_but_those_who_want_it() -> None:
    slow, other = Made("slow"), Made("other", 1)
    begun, go_on = Event(), Event()

    def wait() -> None:
        begun.set()
        go_on.wait(5)

    slow.before = wait
    with WeightStore(2 * PACKED) as store, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(tier, store, slow)
        begun.wait(5)
        assert tier(store, other) == "source"
        assert tier(store, other) == "memory"
        go_on.set()
        assert asked.result() == "source"


def test_a_load_that_fails_is_anothers_to_try_and_leaves_no_bytes() -> None:
    def fail() -> None:
        raise ModelError("it is gone")

    source = Made("key")
    source.before = fail
    with WeightStore(PACKED) as store:
        with pytest.raises(ModelError, match="it is gone"):
            tier(store, source)
        assert metric("bytes", tier="memory") == 0
        source.before = lambda: None
        assert tier(store, source) == "source"


def test_what_is_not_leased_goes_when_room_lacks() -> None:
    one, two, three = (Made(str(byte), byte) for byte in range(3))
    evicted = metric("evictions_total", tier="memory")
    with WeightStore(2 * PACKED) as store:
        with store.lease(one) as held:
            assert [tier(store, each) for each in (two, three)] == ["source", "source"]
            assert metric("evictions_total", tier="memory") == evicted + 1
            assert content(held.memory) == bytes(SIZE)
            with store.lease(three), pytest.raises(NoRoomError, match="--memory"):
                tier(store, two)
            assert metric("leases") == 1
        assert tier(store, one) == "memory"
        assert tier(store, two) == "source"
        with pytest.raises(NoRoomError):
            tier(store, Made("large", size=3 * SIZE))
    assert metric("bytes", tier="memory") == 0


def test_equal_weights_are_held_once() -> None:
    with WeightStore(2 * PACKED) as store:
        with store.lease(Made("one")) as one, store.lease(Made("other")) as other:
            assert one.memory is other.memory
        used = metric("bytes", tier="memory")
        assert used < PACKED
        assert tier(store, Made(None)) == "source"
        assert metric("bytes", tier="memory") == used
        assert tier(store, Made("other")) == "memory"


def test_ever_new_files_of_equal_weights_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MAX_KNOWN_KEYS", 3)
    with WeightStore(2 * PACKED) as store:
        for number in range(8):
            assert tier(store, Made(f"copy {number}")) == "source"
        assert tier(store, Made("copy 7")) == "memory"
        assert len(store._known) <= 3


def test_what_was_given_up_comes_back_from_disk(tmp_path: Path) -> None:
    sources = [Made(str(byte), byte) for byte in range(2)]
    disk = DiskTier(tmp_path, 10 * PACKED)
    with WeightStore(PACKED, disk) as store:
        assert [tier(store, each) for each in sources] == ["source", "source"]
        saved(disk, 2)
        assert [tier(store, each) for each in sources] == ["disk", "disk"]
        assert tier(store, sources[1]) == "memory"
    with WeightStore(PACKED, DiskTier(tmp_path, 10 * PACKED)) as again:
        assert tier(again, sources[0]) == "disk"
    assert sources[0].loads == 1


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(bytes(50)), Path.unlink])
def test_damaged_copies_are_loaded_anew(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    source = Made("key")
    disk = DiskTier(tmp_path, PACKED)
    with WeightStore(PACKED, disk) as store:
        tier(store, source)
        saved(disk, 1)
        (copy,) = tmp_path.glob("*.weights")
    damage(copy)
    with WeightStore(PACKED, disk) as store:
        assert tier(store, source) == "source"
    assert source.loads == 2


class NoWeights(Made):
    """Bytes that are no packed weights."""

    def fill(self, write: Write) -> None:
        write(bytes(SIZE))


def test_weights_that_cannot_be_read_leave_nothing() -> None:
    """Their memory stayed, and counted, for good."""
    with WeightStore(PACKED) as store:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(3):
            with pytest.raises(BenanzaError, match=r"can't read them \(no footer\); ask again"):
                tier(store, NoWeights("key"))
        assert metric("bytes", tier="memory") == 0
        assert len(list(Path("/proc/self/fd").iterdir())) == before
        assert tier(store, Made("key")) == "source"


def test_a_copy_on_disk_that_holds_no_weights_is_loaded_anew(tmp_path: Path) -> None:
    content = bytes(SIZE)
    digest = hashlib.sha256(content).hexdigest()
    (tmp_path / f"key-{digest}.weights").write_bytes(content)
    with WeightStore(PACKED, DiskTier(tmp_path, PACKED)) as store:
        with pytest.raises(BenanzaError, match="ask again"):
            tier(store, Made("key"))
        assert tier(store, Made("key")) == "source"
