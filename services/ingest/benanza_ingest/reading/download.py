"""Reads what a web server has, from the address that was checked and from no other.

A name is resolved once: a second look could find another address, which nobody has checked.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from urllib.parse import urljoin

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from benanza_backbone.model_sources import DEFAULT_PORTS
from benanza_ingest.errors import ModelError, UnfetchedError
from benanza_ingest.reading.allowed import Allowed, Origin

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
"""The longest time without a byte from the server, in seconds."""

TOTAL_SECONDS = 3600.0
"""The longest download in seconds: a server may send a byte a minute."""

MOST_REDIRECTS = 5

_RETRIES = urllib3.Retry(2, redirect=False, respect_retry_after_header=False)
"""A busy server may ask for a wait of hours, in which nothing else would go on."""

Read = Callable[[int], bytes]
"""Returns up to so many bytes, and none at the end."""


@contextmanager
def downloaded(address: str, allowed: Allowed) -> Iterator[Read]:
    """What reads the answer to a GET. Raises `ModelError` if it isn't allowed, or can't be had."""
    deadline = monotonic() + TOTAL_SECONDS
    try:
        with _answer(address, allowed) as response:
            if response.status != 200:
                raise UnfetchedError(f"{address} answers {response.status}", "check the address")

            def read(most: int) -> bytes:
                if monotonic() > deadline:
                    raise ModelError(
                        f"{address} takes longer than {TOTAL_SECONDS:.0f} s; download the file by "
                        "other means and name its path"
                    )
                # `read1` returns what has arrived, without waiting for more.
                part: bytes = response.read1(most)
                return part

            yield read
    except (HTTPError, OSError, UnicodeError) as error:
        reason = getattr(error, "reason", None) or error
        raise UnfetchedError(
            f"{address} can't be fetched ({type(reason).__name__})",
            "check the address and the network, or download the file and name its path",
        ) from error


@contextmanager
def _answer(address: str, allowed: Allowed) -> Iterator[urllib3.BaseHTTPResponse]:
    """The last of the answers to which redirects lead. Each address on the way is checked."""
    before: Origin | None = None
    for _ in range(1 + MOST_REDIRECTS):
        url = urllib3.util.parse_url(address)
        origin = _origin(url)
        allowed.check_origin(origin)
        addresses = allowed.addresses(origin, _resolved(origin), before)
        with _asked(origin, addresses, url.request_uri) as response:
            moved = response.get_redirect_location()
            if not moved:
                yield response
                return
            address, before = urljoin(address, moved), origin
    raise ModelError(f"{address} redirects more than {MOST_REDIRECTS} times; check the address")


@contextmanager
def _asked(origin: Origin, addresses: list[str], target: str) -> Iterator[urllib3.BaseHTTPResponse]:
    """The answer from the first of these IP addresses to which one can connect."""
    for left in reversed(range(len(addresses))):
        pool = _pool(origin, addresses[-1 - left])
        try:
            try:
                response = pool.request(
                    "GET",
                    target,
                    headers={"Host": _host_header(origin)},
                    retries=_RETRIES,
                    preload_content=False,
                )
            except HTTPError as error:
                cause = getattr(error, "reason", None)
                if left and isinstance(cause, NewConnectionError | ConnectTimeoutError):
                    continue
                raise
            with response:
                yield response
            return
        finally:
            pool.close()


def _pool(origin: Origin, address: str) -> urllib3.HTTPConnectionPool:
    timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
    if origin.scheme == "http":
        return urllib3.HTTPConnectionPool(address, origin.port, timeout=timeout)
    # The certificate has to be the named host's.
    return urllib3.HTTPSConnectionPool(
        address, origin.port, timeout=timeout, server_hostname=origin.host
    )


def _origin(url: urllib3.util.Url) -> Origin:
    if url.scheme not in DEFAULT_PORTS or not url.host:
        raise urllib3.exceptions.LocationValueError(f"{url} names no web server")
    host = url.host.strip("[]").rstrip(".")
    return Origin(url.scheme, host, url.port or DEFAULT_PORTS[url.scheme])


def _host_header(origin: Origin) -> str:
    return str(origin).partition("//")[2]


def _resolved(origin: Origin) -> list[str]:
    entries = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in entries))
