"""The socket of the store: who may ask, what they get, and when their lease ends.

Each tenant has a thread of its own, so that none waits for another's silence.
"""

import logging
import os
import socket
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benanza.weights.gpu import GpuTier
from benanza.weights.metrics import REFUSED
from benanza.weights.sources import (
    AddressWeights,
    FileWeights,
    WeightSource,
    is_settled,
    locations_of,
    signature,
)
from benanza.weights.store import LeasedMemory, WeightStore
from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.weights.messages import (
    MAX_FILES,
    REQUESTS,
    AskedWeights,
    GrantedLease,
    MessageError,
    OpenedFiles,
    RefusedLease,
    WantedFiles,
    close,
    receive,
    send,
    user_of,
)
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import Allowed
from benanza_schemas.events import MAX_REASON_LENGTH

MAX_TENANTS = 512
MAX_TENANTS_OF_A_USER = 128
"""Connections at once: a user that opens ever more leaves room for others."""

MAX_KNOWN_MODELS = 10_000
"""Whose locations of external data are kept, each to be found again in milliseconds."""

PATIENCE_S = 10.0
"""How long a tenant may take to ask, in seconds."""

REFUSED_S = 1.0
"""The same of one that isn't taken on."""

MAX_REFUSED = 64
"""Those that aren't taken on, at once: further ones are told nothing."""

_ALL = 0o666
_OWN = 0o600

log = logging.getLogger(__name__)


class WeightServer(Closing):
    """Serves a store at the socket of this path, to this user and to those of these ids, until it
    is closed. Raises `BenanzaError` if there can be no socket.
    """

    def __init__(
        self,
        path: Path,
        store: WeightStore,
        *,
        users: Sequence[int] = (),
        allowed: Allowed,
        limits: Limits,
        gpus: GpuTier | None = None,
    ) -> None:
        self._path = path
        self._store = store
        self._users = {os.geteuid(), *users}
        self._allowed = allowed
        self._limits = limits
        self._gpus = gpus
        self._tenants: dict[socket.socket, int] = {}
        self._guard = threading.Lock()
        self._refusals = threading.BoundedSemaphore(MAX_REFUSED)
        self._closing = threading.Event()
        self._locations: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._listening = _listening(path, _ALL if users else _OWN)
        self._thread = threading.Thread(target=self._accept, name="accept", daemon=True)
        self._thread.start()

    def is_open(self) -> bool:
        """Whether new tenants are taken on."""
        return self._thread.is_alive()

    def close(self) -> None:
        """Ends all leases; tenants keep what they have mapped."""
        self._closing.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        self._path.unlink(missing_ok=True)
        with self._guard:
            for connection in self._tenants:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError as error:
                if self._closing.is_set():
                    return
                log.warning("a tenant can't be taken on: %s", error)
                self._closing.wait(0.1)  # as long as all file descriptors are in use
                continue
            try:
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
            except RuntimeError as error:
                connection.close()
                log.warning("a tenant can't be taken on: %s", error)
                self._closing.wait(0.1)  # as long as the system has no more threads

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            user = user_of(connection)
            connection.settimeout(PATIENCE_S)
            try:
                if reason := self._enter(connection, user):
                    self._send_away(connection, reason)
                else:
                    self._lend(connection)
            except (EOFError, ConnectionError):
                pass  # it has ended, and so has its lease
            except TimeoutError:
                _refuse(connection, f"nothing was asked within {PATIENCE_S:g} s")
            except (BenanzaError, MessageError) as error:
                _refuse(connection, str(error))
            except Exception:
                log.exception("a tenant's request failed")
                _refuse(connection, "the store failed; its log says how")
            with self._guard:
                self._tenants.pop(connection, None)

    def _enter(self, connection: socket.socket, user: int) -> str:
        """Takes a tenant on, or says why not."""
        with self._guard:
            if user not in self._users:
                return f"user {user} may not use this store; start it with --allow {user}"
            of_user = Counter(self._tenants.values())[user]
            if len(self._tenants) >= MAX_TENANTS or of_user >= MAX_TENANTS_OF_A_USER:
                return f"user {user} has {of_user} tenants here; end some, and ask again"
            self._tenants[connection] = user
        return ""

    def _send_away(self, connection: socket.socket, reason: str) -> None:
        """Tells one that isn't taken on why, unless too many are told so."""
        if self._refusals.acquire(blocking=False):
            try:
                _leave_unread(connection)
                _refuse(connection, reason)
            finally:
                self._refusals.release()
        else:
            REFUSED.inc()

    def _lend(self, connection: socket.socket) -> None:
        """Answers a request, and holds the lease until the tenant closes the connection."""
        asked, files = receive(connection, REQUESTS)
        try:
            if not isinstance(asked, AskedWeights):
                raise MessageError("no files were wanted; ask for a model first")
            source = self._source(connection, asked, files)
            with self._store.lease(source) as leased:
                if asked.sha256 and asked.sha256.lower() != leased.model_sha256:
                    raise ModelError(
                        f"the model's file has the SHA-256 {leased.model_sha256}, not "
                        f"{asked.sha256}; it is another file than was published"
                    )
                with self._on_gpu(asked.gpu, leased) as (tier, on_gpu):
                    file = leased.memory.opened()
                    try:
                        granted = GrantedLease(leased.memory.sha256, tier)
                        send(connection, granted, [file, *on_gpu])
                    finally:
                        close([file])
                    close(files)
                    files.clear()
                    connection.settimeout(None)
                    _, more = receive(connection, REQUESTS)
                    close(more)
                    raise MessageError("a connection has one lease; open another one")
        finally:
            close(files)

    @contextmanager
    def _on_gpu(self, gpu: str, leased: LeasedMemory) -> Iterator[tuple[str, list[int]]]:
        """The fastest tier that had the weights, and the file of their copy on the GPU, if one is
        named.
        """
        if not gpu:
            yield leased.tier, []
            return
        if self._gpus is None:
            raise BenanzaError("this store keeps nothing on GPUs; start it with --gpu-memory")
        with self._gpus.lease(gpu, leased.memory) as copy:
            yield "gpu" if copy.was_there else leased.tier, [copy.file]

    def _source(
        self, connection: socket.socket, asked: AskedWeights, files: list[int]
    ) -> WeightSource:
        """What is asked for. Files that are wanted besides are put to the others."""
        if asked.address:
            return AddressWeights(asked.address, asked.sha256, self._allowed, self._limits)
        if len(files) != 1:
            raise MessageError("a request comes with one file, the model's, or with an address")
        found = signature(files[0])
        locations = self._locations.get(found)
        if locations is None:
            locations = locations_of(files[0], self._limits)
            if len(self._locations) >= MAX_KNOWN_MODELS:
                self._locations.clear()
            if is_settled(found):
                self._locations[found] = locations
        if len(locations) > MAX_FILES:
            raise ModelError(
                f"the model has its weights in {len(locations):,} files, and at most {MAX_FILES} "
                "can be passed; save it again with all external data in one file"
            )
        if locations:
            send(connection, WantedFiles(locations))
            opened, more = receive(connection, REQUESTS)
            files += more
            if not isinstance(opened, OpenedFiles) or len(more) != len(locations):
                raise MessageError(f"{len(locations)} files were wanted, and {len(more)} came")
        beside = dict(zip(locations, files[1:], strict=True))
        return FileWeights(files[0], beside, self._limits)


def _leave_unread(connection: socket.socket) -> None:
    """Takes the request off: an answer doesn't arrive where one is still there at the end."""
    connection.settimeout(REFUSED_S)
    with suppress(MessageError, TimeoutError):
        _, files = receive(connection, REQUESTS)
        close(files)


def _refuse(connection: socket.socket, reason: str) -> None:
    REFUSED.inc()
    with suppress(OSError):
        send(connection, RefusedLease(reason[:MAX_REASON_LENGTH]))


def _listening(path: Path, mode: int) -> socket.socket:
    """A socket at this path; one that a killed store left there is replaced."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may be the data folder
        if path.is_socket():
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as tried:
                try:
                    tried.connect(str(path))
                except ConnectionRefusedError:
                    path.unlink()
        listening.bind(str(path))
        path.chmod(mode)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise BenanzaError(
            f"there can be no socket at {path} ({error.strerror or error}); if no store runs "
            "there, name another path with --socket"
        ) from error
    return listening
