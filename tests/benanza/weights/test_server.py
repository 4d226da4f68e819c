"""Tenants, good and bad, at a store's socket."""

import os
import re
import socket as sockets
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from time import monotonic, sleep

import numpy as np
import onnxruntime as ort
import pytest

from benanza.weights import server, sources
from benanza.weights.server import WeightServer
from benanza.weights.store import WeightStore
from benanza_backbone.errors import BenanzaError
from benanza_backbone.telemetry import REGISTRY
from benanza_backbone.weights.in_onnxruntime import SharedSession
from benanza_backbone.weights.lease import LeaseError, leased
from benanza_backbone.weights.messages import (
    ANSWERS,
    AskedWeights,
    GrantedLease,
    OpenedFiles,
    RefusedLease,
    close,
    receive,
    send,
)
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import ANYWHERE
from tests.benanza.weights.models import WIDTH, product_model, saved, weight

X = np.ones((1, WIDTH), np.float32)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(product_model(), tmp_path / "m.onnx")


@contextmanager
def connected(socket: Path) -> Iterator[sockets.socket]:
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_SEQPACKET) as connection:
        connection.settimeout(10)
        connection.connect(str(socket))
        yield connection


def refused(connection: sockets.socket) -> str:
    """The reason; afterwards the connection is closed."""
    answer, files = receive(connection, ANSWERS)
    assert isinstance(answer, RefusedLease)
    assert not files
    with pytest.raises((EOFError, ConnectionError)):
        receive(connection, ANSWERS)
    return answer.reason


def leases() -> float:
    return REGISTRY.get_sample_value("benanza_weights_leases") or 0.0


def soon(leases_left: int) -> None:
    deadline = monotonic() + 5
    while leases() != leases_left:
        assert monotonic() < deadline
        sleep(0.005)


@pytest.mark.parametrize("external", [False, True])
def test_tenants_have_the_same_memory_and_the_right_weights(
    socket: Path, tmp_path: Path, external: bool
) -> None:
    path = saved(product_model(), tmp_path / "m.onnx", external=external)
    (wanted,) = ort.InferenceSession(product_model().SerializeToString()).run(None, {"x": X})
    with leased(path, socket=socket) as one, leased(path, socket=socket) as other:
        assert (one.tier, other.tier) == ("source", "memory")
        assert one.sha256 == other.sha256 == sha256(one.memory).hexdigest()
        (same,) = {
            line.split()[4]  # the inode
            for line in Path("/proc/self/maps").read_text("utf-8").splitlines()
            if "benanza-weights" in line
        }
        assert same
        np.testing.assert_array_equal(one.arrays["a"], weight(product_model(), "a"))
        session = SharedSession(other)
        np.testing.assert_allclose(session.run(["y"], {"x": X})[0], wanted, 1e-4)
        address = session._weights["a"].data_ptr()
        assert address == other.arrays["a"].ctypes.data
        with pytest.raises(ValueError, match="read-only"):
            one.arrays["a"][0] = 1
        assert leases() == 2
    soon(0)


def test_what_is_mapped_outlives_the_lease_and_the_store(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "weights.sock"
    with (
        WeightStore(1_000_000) as store,
        WeightServer(path, store, allowed=ANYWHERE, limits=Limits()),
    ):
        with leased(model, socket=path) as weights:
            kept = weights.arrays["a"]
        soon(0)
    np.testing.assert_array_equal(kept, weight(product_model(), "a"))
    assert not path.exists()
    with pytest.raises(LeaseError, match="benanza serve weights"), leased(model, socket=path):
        pass


def test_another_file_at_the_same_path_is_another_model(socket: Path, model: Path) -> None:
    for seed in (0, 1, 0):
        saved(product_model(seed), model)
        with leased(model, socket=socket) as weights:
            np.testing.assert_array_equal(weights.arrays["a"], weight(product_model(seed), "a"))


def test_a_file_that_was_just_changed_is_read_again(
    socket: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SETTLED_S", 1e6)
    tiers = []
    for _ in range(2):
        with leased(model, socket=socket) as weights:
            tiers.append(weights.tier)
    assert tiers == ["source", "source"]


def test_the_published_checksum_is_checked(socket: Path, model: Path) -> None:
    published = sha256(model.read_bytes()).hexdigest()
    with leased(model, socket=socket, sha256=published.upper()):
        pass
    with pytest.raises(LeaseError, match=published), leased(model, socket=socket, sha256="0" * 64):
        pass


def test_models_at_addresses_are_fetched_once(socket: Path, tmp_path: Path) -> None:
    path = saved(product_model(), tmp_path / "m.onnx", external=True)
    published = sha256(path.read_bytes()).hexdigest()
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as web:
        Thread(target=web.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{web.server_port}/m.onnx"
        with pytest.raises(LeaseError, match="SHA-256"), leased(address, socket=socket):
            pass
        with leased(address, socket=socket, sha256=published) as weights:
            np.testing.assert_array_equal(weights.arrays["a"], weight(product_model(), "a"))
        with (
            pytest.raises(LeaseError, match=published),
            leased(address, socket=socket, sha256="0" * 64),
        ):
            pass
        web.shutdown()
    with leased(address, socket=socket, sha256=published) as weights:
        assert weights.tier == "memory"


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("zoo:squeezenet", "no weights that can be shared"),
        ("s3://bucket", "names no object"),
    ],
)
def test_an_address_without_weights_is_refused(socket: Path, asked: str, reason: str) -> None:
    with pytest.raises(LeaseError, match=reason), leased(asked, socket=socket, sha256="0" * 64):
        pass


def test_a_file_that_is_no_model_is_refused(socket: Path, tmp_path: Path) -> None:
    (tmp_path / "no.onnx").write_bytes(b"no model")
    for name, reason in (("no.onnx", "not an ONNX model"), ("nowhere.onnx", "can't be read")):
        with pytest.raises(LeaseError, match=reason), leased(tmp_path / name, socket=socket):
            pass


def test_a_sparse_file_holds_no_thread(socket: Path, tmp_path: Path) -> None:
    with (tmp_path / "sparse.onnx").open("wb") as file:
        file.truncate(2**40)
    with (
        pytest.raises(LeaseError, match="larger than 2,147,483,647 bytes"),
        leased(tmp_path / "sparse.onnx", socket=socket),
    ):
        pass


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"\xc1 no message", "no message that is known"),
        (b"\x81\xa4type\xa5other", "no message that is known"),
        (bytes(70_000), "more than 65,536 bytes"),
    ],
)
def test_noise_is_answered(socket: Path, message: bytes, reason: str) -> None:
    with connected(socket) as connection:
        connection.send(message)
        assert reason in refused(connection)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ([], "comes with one file"),
        ([os.pipe], "no regular file"),
        ([lambda: os.open(".", os.O_RDONLY)], "no regular file"),
        ([lambda: os.open("README.md", os.O_RDONLY)] * 2, "comes with one file"),
        ([lambda: os.open("README.md", os.O_PATH)], "can't be read"),
    ],
    ids=["none", "pipe", "folder", "two", "unreadable"],
)
def test_what_is_no_file_is_refused(socket: Path, files: Sequence[object], reason: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    opened: list[int] = []
    for each in files:
        made = each()  # type: ignore[operator]
        opened += made if isinstance(made, tuple) else [made]
    with connected(socket) as connection:
        send(connection, AskedWeights(), opened[:1] if len(files) == 1 else opened)
        assert reason in refused(connection)
    close(opened)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1


@pytest.mark.parametrize("external", [False, True], ids=["model", "beside"])
@pytest.mark.parametrize("how", [os.O_PATH, os.O_WRONLY], ids=["path", "write"])
def test_what_a_tenant_cannot_read_is_refused_although_the_store_has_it(
    socket: Path, tmp_path: Path, external: bool, how: int
) -> None:
    """Whoever may not read a file can open it so."""
    path = saved(product_model(), tmp_path / "m.onnx", external=external)
    with leased(path, socket=socket):
        pass
    unreadable = os.open(tmp_path / "m.data" if external else path, how)
    with connected(socket) as connection, path.open("rb") as file:
        send(connection, AskedWeights(), [file.fileno() if external else unreadable])
        if external:
            receive(connection, ANSWERS)
            send(connection, OpenedFiles(), [unreadable])
        assert "can't be read; open it for reading" in refused(connection)
    close([unreadable])


def test_files_that_were_not_wanted_are_refused(socket: Path, tmp_path: Path) -> None:
    path = saved(product_model(), tmp_path / "m.onnx", external=True)
    with connected(socket) as connection:
        send(connection, OpenedFiles())
        assert "ask for a model first" in refused(connection)
    with connected(socket) as connection, path.open("rb") as file:
        send(connection, AskedWeights(), [file.fileno()])
        receive(connection, ANSWERS)
        send(connection, OpenedFiles(), [file.fileno()] * 2)
        assert "1 files were wanted, and 2 came" in refused(connection)


def test_a_lease_takes_no_more_messages(socket: Path, model: Path) -> None:
    with connected(socket) as connection, model.open("rb") as file:
        send(connection, AskedWeights(), [file.fileno()])
        answer, files = receive(connection, ANSWERS)
        assert isinstance(answer, GrantedLease)
        close(files)
        send(connection, AskedWeights())
        assert "one lease" in refused(connection)
    soon(0)


def test_silent_tenants_hold_up_nobody(
    socket: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PATIENCE_S", 0.2)
    with connected(socket) as silent, connected(socket) as half, model.open("rb") as file:
        send(half, AskedWeights(), [file.fileno()])  # and never reads the answer
        with leased(model, socket=socket):
            pass
        assert "nothing was asked" in refused(silent)


def test_other_users_may_not_ask_unless_they_are_allowed(
    store: WeightStore, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = os.geteuid()
    path = tmp_path / "weights.sock"
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)  # the store's
    with WeightServer(path, store, allowed=ANYWHERE, limits=Limits()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(LeaseError, match=f"--allow {user}"), leased(model, socket=path):
            pass
    with WeightServer(path, store, users=[user], allowed=ANYWHERE, limits=Limits()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
        with leased(model, socket=path):
            pass


@contextmanager
def without_privileges() -> Iterator[None]:
    """Root may do all."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize(
    ("closed", "why"),
    [
        ("folder", "this user may not enter {closed}, .*with --socket in a folder that this user"),
        ("folder/socket", "this user may not use the store at {closed}; start it with --allow"),
    ],
)
def test_a_user_who_cannot_reach_the_socket_is_told_what_is_in_the_way(
    store: WeightStore, closed: str, why: str
) -> None:
    """Who had been named was told to have --allow name that user."""
    with TemporaryDirectory(dir="/tmp") as name:  # which is open to all, unlike pytest's folders
        Path(name).chmod(0o755)
        socket = Path(name) / "folder" / "socket"
        socket.parent.mkdir(mode=0o755)
        socket.parent.chmod(0o755)
        with WeightServer(socket, store, users=[65_534], allowed=ANYWHERE, limits=Limits()):
            shut = Path(name) / closed
            shut.chmod(0o600 if shut.is_dir() else 0)
            told = why.format(closed=re.escape(str(shut)))
            with (
                without_privileges(),
                pytest.raises(LeaseError, match=told),
                leased("m.onnx", socket=socket),
            ):
                pass
            socket.parent.chmod(0o755)


def test_a_folder_that_the_store_makes_is_for_its_user_alone(
    store: WeightStore, tmp_path: Path
) -> None:
    """It is the data folder, unless --socket names another."""
    socket = tmp_path / "data" / "weights.sock"
    before = os.umask(0)
    try:
        with WeightServer(socket, store, allowed=ANYWHERE, limits=Limits()):
            assert stat.S_IMODE(socket.parent.stat().st_mode) == 0o700
    finally:
        os.umask(before)


def test_one_user_cannot_take_all_places(
    socket: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_TENANTS_OF_A_USER", 2)
    with (
        leased(model, socket=socket),
        leased(model, socket=socket),
        pytest.raises(LeaseError, match="has 2 tenants"),
        leased(model, socket=socket),
    ):
        pass


def test_one_that_is_not_taken_on_is_told_why_though_it_asks_nothing(
    socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_TENANTS_OF_A_USER", 0)
    monkeypatch.setattr(server, "REFUSED_S", 0.05)
    with connected(socket) as connection:
        assert "has 0 tenants" in refused(connection)


def test_only_so_many_are_told_why_at_once(
    store: WeightStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_TENANTS_OF_A_USER", 0)
    monkeypatch.setattr(server, "MAX_REFUSED", 1)
    monkeypatch.setattr(server, "REFUSED_S", 10.0)
    path = tmp_path / "weights.sock"
    with (
        WeightServer(path, store, allowed=ANYWHERE, limits=Limits()) as serving,
        connected(path) as first,
    ):
        deadline = monotonic() + 5
        while serving._refusals.acquire(blocking=False):
            serving._refusals.release()
            assert monotonic() < deadline
            sleep(0.005)
        with connected(path) as second, pytest.raises((EOFError, ConnectionError)):
            receive(second, ANSWERS)
        send(first, AskedWeights())
        assert "has 0 tenants" in refused(first)


def test_tenants_are_taken_on_again_once_there_are_threads(
    socket: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(Thread, "start", start)
        with connected(socket) as connection, pytest.raises((EOFError, ConnectionError)):
            receive(connection, ANSWERS)
    with leased(model, socket=socket):
        pass


def test_a_socket_of_a_killed_store_is_replaced_and_that_of_another_is_not(
    store: WeightStore, socket: Path, model: Path, tmp_path: Path
) -> None:
    with pytest.raises(BenanzaError, match="--socket"):
        WeightServer(socket, store, allowed=ANYWHERE, limits=Limits())
    dead = tmp_path / "dead.sock"
    with sockets.socket(sockets.AF_UNIX, sockets.SOCK_SEQPACKET) as left:
        left.bind(str(dead))
    with (
        WeightServer(dead, store, allowed=ANYWHERE, limits=Limits()),
        leased(model, socket=dead),
    ):
        pass


def test_many_at_once_are_served(socket: Path, tmp_path: Path) -> None:
    paths = [saved(product_model(seed), tmp_path / f"{seed}.onnx") for seed in range(3)]

    def ask(number: int) -> bool:
        with leased(paths[number % 3], socket=socket) as weights:
            return bool((weights.arrays["a"] == weight(product_model(number % 3), "a")).all())

    with ThreadPoolExecutor(12) as pool:
        assert all(pool.map(ask, range(36)))
    soon(0)
