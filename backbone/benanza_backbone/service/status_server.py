"""How a service is, over HTTP: a page for people, `/healthz`, `/readyz` and `/metrics`."""

import json
from collections.abc import Callable, Iterable, Sequence
from socketserver import ThreadingMixIn
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from benanza_backbone.closing import Closing
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.status_page import HEADERS, page, snapshot
from benanza_backbone.telemetry import REGISTRY

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

LOOPBACK = "127.0.0.1"


class Check(NamedTuple):
    """One thing that a service needs: whether it is so, and what there is to say of it."""

    name: str
    ok: bool
    detail: str


Checks = Callable[[], Sequence[Check]]
"""Asked for each request, in a thread of the server's own: it may not block."""


class StatusServer(Closing):
    """Answers from the moment it is made, in threads of its own.

    `/healthz` says whether the process is worth keeping: 200 if all checks of `liveness` are
    well, else 503. `/readyz` says the same of `readiness`: whether it does its work now. Both
    answer with a JSON document of all checks. `/metrics` is what Prometheus reads. `/` shows all of
    that to people, under the service's `name`. Port 0 is any free port. Raises `BenanzaError` if
    the port can't be had.
    """

    def __init__(
        self,
        port: int,
        readiness: Checks,
        *,
        liveness: Checks = lambda: (),
        host: str = LOOPBACK,
        name: str = "service",
    ) -> None:
        pages = {"/healthz": liveness, "/readyz": readiness}
        metrics = make_wsgi_app(REGISTRY)

        def answer(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
            path = environ["PATH_INFO"]
            if path == "/metrics":
                answered: Iterable[bytes] = metrics(environ, start)
                return answered
            if path == "/":
                start("200 OK", HEADERS)
                return [page(snapshot(name, readiness(), liveness()))]
            if path not in pages:
                return _document(start, "404 Not Found", {"pages": ["/", *pages, "/metrics"]})
            checks = pages[path]()
            well = all(check.ok for check in checks)
            status = "200 OK" if well else "503 Service Unavailable"
            return _document(start, status, {"ok": well, "checks": [c._asdict() for c in checks]})

        try:
            self._server = make_server(host, port, answer, _Server, _QuietHandler)
        except OSError as error:
            raise BenanzaError(
                f"can't listen on port {port} of {host} ({error.strerror}); name another port in "
                "BENANZA_METRICS_PORT, 0 for any free one"
            ) from error
        self.address = f"http://{host}:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever, name="status", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Gives the port back."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    timeout = 10
    """Seconds after which a client that says nothing is let go."""

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: who watches a service asks every few seconds."""


def _document(start: "StartResponse", status: str, content: object) -> Iterable[bytes]:
    start(status, [("Content-Type", "application/json")])
    return [json.dumps(content, ensure_ascii=False).encode()]
