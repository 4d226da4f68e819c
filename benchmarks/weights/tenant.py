"""A process that runs a model once: `python -m benchmarks.weights.tenant HOW MODEL [SOCKET]`.

It prints a line of JSON when it has, and stays until standard input closes. HOW is `file`, which
leaves everything to ONNX Runtime; `store`, with leased weights; or `read`, which only reads these:
it says before that it asks, and reads them once more for a line of input.
"""

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

WIDTH = 2048
"""Of the weights of models that are run."""


def _ran(session: Any) -> dict[str, object]:
    import numpy as np

    (found,) = session.run(None, {"x0": np.ones((1, WIDTH), np.float32)})
    return {"result": float(np.abs(found).sum())}


@contextmanager
def _file(model: str, _: str) -> Iterator[dict[str, object]]:
    import onnxruntime as ort

    started = time.perf_counter()
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    ran = _ran(session)
    yield ran | {"seconds": time.perf_counter() - started, "again": _again(session)}


@contextmanager
def _store(model: str, socket: str) -> Iterator[dict[str, object]]:
    from benanza_backbone.weights.in_onnxruntime import SharedSession
    from benanza_backbone.weights.lease import leased

    started = time.perf_counter()
    with leased(model, socket=socket) as weights:
        session = SharedSession(weights)
        ran = _ran(session)
        yield ran | {
            "seconds": time.perf_counter() - started,
            "tier": weights.tier,
            "again": _again(session),
        }


def _again(session: Any) -> float:
    """The median of nine further runs, in seconds."""
    times = []
    for _ in range(9):
        started = time.perf_counter()
        _ran(session)
        times.append(time.perf_counter() - started)
    return sorted(times)[4]


@contextmanager
def _read(model: str, socket: str) -> Iterator[dict[str, object]]:
    from benanza_backbone.weights.lease import leased

    print("asking", flush=True)
    with leased(model, socket=socket) as weights:
        yield {"sha256": _digest(weights), "tier": weights.tier}
        if sys.stdin.readline():
            print(json.dumps({"sha256": _digest(weights)}), flush=True)


def _digest(weights: Any) -> str:
    digest = hashlib.sha256()
    for weight in sorted(weights.index.weights, key=lambda weight: weight.name):
        digest.update(weights.memory[weight.offset : weight.offset + weight.size])
    return digest.hexdigest()


if __name__ == "__main__":
    how, model, *socket = sys.argv[1:]
    ways = {"file": _file, "store": _store, "read": _read}
    with ways[how](model, *socket or [""]) as ran:
        print(json.dumps(ran), flush=True)
        if how != "read":
            sys.stdin.read()
