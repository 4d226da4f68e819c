"""Measurements that follow from the layers, so that two installations find the same ones.

    python -m tests.benanza.hashed_runtime

is `benanza serve runner` with this runtime.
"""

import os
import sys
from hashlib import sha256

from benanza.commands.running.serve import say, settings_of_service
from benanza_runner.runtime import Outcome
from benanza_runner.service import serve
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Layer, Precision
from tests.runner.fake_runtime import FakeRuntime, variant


class HashedRuntime(FakeRuntime):
    """Takes a time that looks like chance, and cannot measure one layer in ten."""

    def measure(self, layer: Layer, precision: Precision) -> Outcome:
        number = int.from_bytes(sha256(fingerprint(layer).encode()).digest()[:4])
        if number % 10 == 0:
            return Outcome(failure="chance is against this layer")
        return Outcome(
            variants=(variant(number % 1000 + 0.25), variant(2000.0, "slower")),
            environment={"process": str(os.getpid())},
        )


def main() -> int:
    settings = settings_of_service()
    started = say("runner", settings)
    return serve(settings, started, runtime=HashedRuntime(), precisions=["fp32"])


if __name__ == "__main__":
    sys.exit(main())
