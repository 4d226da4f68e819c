"""A Prometheus of one's own, asked over HTTP."""

import json
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml


@contextmanager
def prometheus_over(folder: Path, config: Mapping[str, Any]) -> Iterator[str]:
    """The address of a Prometheus with this configuration and the data in the folder's `data`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (folder / "prometheus.yml").write_text(yaml.safe_dump(dict(config)))
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(60)


def ask(prometheus: str, path: str, **parameters: object) -> Any:
    """What it answers; None while it doesn't."""
    try:
        url = f"{prometheus}/api/v1/{path}?{urlencode(parameters)}"
        with urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]
    except OSError:
        return None
