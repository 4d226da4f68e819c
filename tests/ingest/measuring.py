"""What ingest takes of a machine, measured in a process of its own."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_SCRIPT = """
import resource, sys, time
from pathlib import Path
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
content = Path(sys.argv[1]).read_bytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
started = time.perf_counter()
try:
    found = extract(content)
    said = "; ".join(layer.reason for layer in found.layers if layer.reason)
except ModelError as error:
    said = str(error)
print(time.perf_counter() - started)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
print(said)
"""


@dataclass(frozen=True)
class Taken:
    """Seconds, bytes of memory beside the file itself, and the reasons that were given."""

    seconds: float
    bytes: int
    said: str


def measure(content: bytes, folder: Path, timeout: float = 60) -> Taken:
    """Extracts a model. A process that ends by itself, or not at all, fails the test."""
    file = folder / "model.onnx"
    file.write_bytes(content)
    command = [sys.executable, "-c", _SCRIPT, str(file)]
    finished = subprocess.run(command, check=True, timeout=timeout, capture_output=True, text=True)
    seconds, kilobytes, said = finished.stdout.split("\n", 2)
    return Taken(float(seconds), int(kilobytes) * 1024, said.strip())
