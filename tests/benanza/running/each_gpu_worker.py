"""`serve_each` with another program in the place of `benanza`, which notes what it is told.

    python -m tests.benanza.running.each_gpu_worker FOLDER GPUS PORT

The program appends to the file FOLDER/GPU: a line when it starts, and one for each signal. It
ends with status 0 at the first SIGTERM, but on GPU `slow` at the second.
"""

import json
import os
import signal
import sys
from pathlib import Path

from benanza.running import each_gpu
from benanza_backbone.log import configure

PROGRAM = (sys.executable, "-m", __spec__.name if __spec__ else "", "--runner")


def main() -> int:
    configure("text")
    folder, gpus, port = sys.argv[1:]
    each_gpu.PROGRAM = PROGRAM
    each_gpu.AGAIN_S = 0.3
    return each_gpu.serve_each(gpus.split(","), [folder], int(port))


def runner(folder: Path) -> int:
    gpu = os.environ["CUDA_VISIBLE_DEVICES"]
    wanted = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    settings = {k: v for k, v in os.environ.items() if k.startswith("BENANZA_")}
    _note(folder / gpu, {"process": os.getpid(), **settings})
    for _ in range(2 if gpu == "slow" else 1):
        _note(folder / gpu, {"signal": signal.sigwait(wanted)})
    return 0


def _note(file: Path, noted: dict[str, object]) -> None:
    with file.open("a") as opened:
        opened.write(json.dumps(noted) + "\n")


if __name__ == "__main__":
    sys.exit(runner(Path(sys.argv[2])) if sys.argv[1] == "--runner" else main())
