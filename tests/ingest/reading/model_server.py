"""A web server on the loopback interface that serves models well and badly."""

import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODEL = b"\x08\x0amodel"


class _Handler(BaseHTTPRequestHandler):
    server: "ModelServer"

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        match self.path:
            case "/models/small%20one.onnx":
                self._answer(200, MODEL)
            case "/moved":
                self.send_response(302)
                self.send_header("Location", "/models/small%20one.onnx")
                self.end_headers()
            case "/round-and-round":
                self.send_response(302)
                self.send_header("Location", "/round-and-round")
                self.end_headers()
            case "/large":
                self._answer(200, bytes(5000))
            case "/endless":
                self.send_response(200)
                self.end_headers()
                self._write_until_closed(bytes(100_000), pause=0.0)
            case "/trickle":
                self.send_response(200)
                self.end_headers()
                self._write_until_closed(b"x", pause=0.02)
            case "/silent":
                time.sleep(1)
            case "/silent-body":
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(1)
            case "/cut-off":
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(MODEL)
            case "/garbage":
                self.wfile.write(b"\xff\xfe\x00 nonsense\r\n\r\n")
            case path if path in self.server.files:
                self._answer(200, self.server.files[path])
            case _:
                self._answer(404, b"no such model")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _write_until_closed(self, chunk: bytes, pause: float) -> None:
        try:
            for _ in range(10_000):
                self.wfile.write(chunk)
                self.wfile.flush()
                time.sleep(pause)
        except OSError:
            return

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: the tests' output is for the tests."""


class ModelServer(ThreadingHTTPServer):
    """`paths` are those that were asked for, in order; `files` what is there besides, by path."""

    daemon_threads = True
    paths: list[str]
    files: Mapping[str, bytes]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away early is what some of the tests do."""


@contextmanager
def model_server(
    files: Mapping[str, bytes] | None = None, tls: tuple[Path, Path] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Its address, without a slash at the end, and the paths that it is asked for.

    `files` are served besides, by path. `tls` is a certificate with its key.
    """
    with ModelServer(("127.0.0.1", 0), _Handler) as server:
        server.paths = []
        server.files = files or {}
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http{'s' * bool(tls)}://127.0.0.1:{server.server_address[1]}", server.paths
        server.shutdown()
        thread.join()
