"""A process that starts a child for each request, as its parent sees it."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from benanza_backbone.closing import Closing
from benanza_backbone.confining.confine import Confinement
from benanza_backbone.worker.process import WorkerProcess
from benanza_ingest.isolation.forking import BEGIN, END, SHARE
from benanza_ingest.isolation.messages import Reach, confinements, encoder

START_SECONDS = 120.0
"""How long it may take to import all that models need, on a busy machine."""

PATIENCE_S = 1.0
"""In which it ends its child, and waits for that: who is left behind has nobody to do so."""

_CONFINEMENT_BYTES = 1_000

_ALL = ("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONUTF8")

_NETWORK = (
    "HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
)  # fmt: skip
_NETWORK_BEGINS = ("AWS_",)

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""A process with threads can't be forked safely."""


class ForkingWorker(Closing):
    """A confined process that runs this module, and starts a child for each request: the next one
    in advance, while its parent has other things to do.

    Raises `WorkerError` if it can't be started.
    """

    def __init__(self, module: str, reach: Reach) -> None:
        self._process = WorkerProcess(
            module, environment(os.environ, network=reach.network), PATIENCE_S
        )
        self.confinement: Confinement = self._process.ask(
            encoder.encode(reach), confinements, START_SECONDS, _CONFINEMENT_BYTES
        )
        self._next = self._begin()

    def is_alive(self) -> bool:
        """Whether it hasn't ended by itself, and wasn't closed."""
        return self._process.is_alive()

    def close(self) -> None:
        """Ends the process and its child, even if that is busy. May be called again."""
        self._next.close()
        self._process.close()

    def answering(self, seconds: float) -> AbstractContextManager[float]:
        """As that of `WorkerProcess`: where a block fails, the worker is closed. It has memory in
        common with a child that did what no child does.
        """
        return self._process.answering(seconds)

    @contextmanager
    def child(self) -> Iterator[int]:
        """The file descriptor of the socket to a child, which ends at the latest with the block.

        To be used `answering`. Raises `ConnectionError` if the process has ended.
        """
        with self._next as child:
            order = END
            try:
                yield child.fileno()
            except (EOFError, ConnectionError):
                order = SHARE
                raise
            finally:
                self._process.socket.send(order)
                if order == END:
                    self._next = self._begin()

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            socket.send_fds(self._process.socket, [BEGIN], [theirs.fileno()])
        return ours


def environment(variables: Mapping[str, str], *, network: bool) -> dict[str, str]:
    """Those variables that a process needs: no password, but those for models at addresses, if it
    has the network.
    """
    needed = (*_ALL, *_NETWORK) if network else _ALL
    told = {name: value for name, value in variables.items() if name in needed}
    if network:
        told |= {n: value for n, value in variables.items() if n.startswith(_NETWORK_BEGINS)}
    return told | _ONE_THREAD
