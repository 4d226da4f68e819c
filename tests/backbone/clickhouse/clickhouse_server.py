"""A ClickHouse server for tests: the real engine (chDB) behind ClickHouse's HTTP interface.

    python -m tests.backbone.clickhouse.clickhouse_server FOLDER USER PASSWORD [PORT]

It listens on that port of the loopback address, by default a free one, and prints it. Statements
run one at a time.
Of the interface it has what the client sends, without compression. It refuses the rest, since the
engine takes an insert whose rows it can't read for one without rows.
"""

import base64
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb

INSERT = re.compile(rb"(INSERT INTO [^\n]*) FORMAT Native\n", re.IGNORECASE)
INSERT_WITH_ROWS = re.compile(rb"\s*INSERT\s.*\sFORMAT\s", re.IGNORECASE | re.DOTALL)
SETTINGS = ("async_insert", "date_time_input_format")
IN_VAIN = {
    "cancel_http_readonly_queries_on_client_close",
    "cast_string_to_dynamic_use_inference",
    "client_protocol_version",
    "enable_http_compression",
    "http_headers_progress_interval_ms",
    "query_id",
    "send_progress_in_http_headers",
    "wait_end_of_query",
}
"""What the client may ask for, and does without."""

NOT_IMPLEMENTED = 48
"""ClickHouse's code for it: https://github.com/ClickHouse/ClickHouse, ErrorCodes.cpp."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else an answer's body waits 40 ms for the client to acknowledge its headers.
    disable_nagle_algorithm = True
    folder: str
    engine: Any
    engine_lock = threading.Lock()
    authorization: str

    def do_POST(self) -> None:
        body = b"".join(self._body())
        if self.headers.get("Authorization", "") != self.authorization:
            self._refuse(403, 516, "Authentication failed (AUTHENTICATION_FAILED)")
            return
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        sql = query.get("query", "").encode() + body
        if unknown := self._unknown(query, sql):
            self._refuse(501, NOT_IMPLEMENTED, f"{unknown} (NOT_IMPLEMENTED)")
            return
        try:
            with self.engine_lock:
                answer = self._run(sql, query)
        except RuntimeError as error:
            message = str(error).removeprefix("Code: ")
            self._refuse(404, int(message.partition(".")[0]), message.partition("Exception: ")[2])
        else:
            self._answer(200, answer)

    def _run(self, sql: bytes, query: dict[str, str]) -> bytes:
        bound = {k.removeprefix("param_"): v for k, v in query.items() if k.startswith("param_")}
        if "readonly" in query:
            return self._read(sql, query)
        self.engine.query(f"USE {query.get('database', 'default')}")
        for setting in SETTINGS:
            value = query.get(setting)
            self.engine.query(f"SET {setting} = {value!r}" if value else f"SET {setting} = DEFAULT")
        if not (insert := INSERT.match(sql)):
            answer: bytes = self.engine.query(sql, "TabSeparated", params=bound).bytes()
            return answer
        with tempfile.NamedTemporaryFile() as rows:
            rows.write(sql[insert.end() :])
            rows.flush()
            self.engine.query(f"{insert[1].decode()} FROM INFILE '{rows.name}' FORMAT Native")
        return b""

    def _read(self, sql: bytes, query: dict[str, str]) -> bytes:
        """On a connection of its own: it may never write again."""
        with chdb.connect(self.folder) as reading:  # type: ignore[no-untyped-call]
            reading.query(f"USE {query.get('database', 'default')}")
            reading.query(f"SET readonly = {query['readonly']}")
            answer: bytes = reading.query(sql, "TabSeparated").bytes()
        return answer

    def _unknown(self, query: dict[str, str], sql: bytes) -> str:
        """What of a request is not understood here; empty if all of it is."""
        encoding = self.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            return f"Content-Encoding {encoding}: say compress=false"
        known = {"database", "query", "readonly", *SETTINGS, *IN_VAIN}
        for name in query:
            if name not in known and not name.startswith("param_"):
                return f"Setting {name}"
        if "readonly" not in query and INSERT_WITH_ROWS.match(sql) and not INSERT.match(sql):
            return "An INSERT whose rows aren't in the format Native, on the lines behind it"
        return ""

    def _body(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding") != "chunked":
            yield self.rfile.read(int(self.headers.get("Content-Length", 0)))
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _refuse(self, status: int, code: int, message: str) -> None:
        text = f"Code: {code}. DB::Exception: {message}\n"
        self._answer(status, text.encode(), {"X-ClickHouse-Exception-Code": str(code)})

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"X-ClickHouse-Summary": "{}", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: standard output is for the port."""


def main() -> None:
    folder, user, password, *port = sys.argv[1:]
    Handler.folder = folder
    Handler.engine = chdb.connect(folder)  # type: ignore[no-untyped-call] # chdb has no types
    Handler.authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    server = ThreadingHTTPServer(("127.0.0.1", int(port[0]) if port else 0), Handler)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
