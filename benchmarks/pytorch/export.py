"""ONNX exports of models by PyTorch's exporter, without weights:

    python -m benchmarks.pytorch.export FOLDER --models resnet50,timm:vit_tiny_patch16_224 --batch 1

writes what `benchmarks.pytorch.compare` would export itself, so that a costly machine need not.
"""

import argparse
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benanza.pytorch.export import export
from benanza.pytorch.names import resolved
from benanza_runner.reasons import short_reason
from benchmarks.pytorch.arguments import MOST_EXPORTS, export_path, failure_path

MOST_SECONDS = 300.0


def write_export(name: str, batch: int, target: Path) -> None:
    """Writes the export of a model. If it fails, it writes why."""
    try:
        part = target.with_suffix(".part")
        part.write_bytes(export(name, batch).SerializeToString())
        part.replace(target)
    except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
        _fail(target, f"{type(error).__name__}: {error}")


def _fail(target: Path, reason: str) -> None:
    reason = short_reason(f"it can't be exported: {reason}")
    failure_path(target).write_text(reason, encoding="utf-8")


def export_all(folder: Path, names: Iterable[str], batch: int, seconds: float) -> None:
    """Exports models, several at a time, each in a process of its own, as one may crash.

    None begins after so many seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    spawning = get_context("spawn")
    until = time.monotonic() + seconds

    def exported(name: str) -> None:
        if time.monotonic() > until:
            return
        target = export_path(folder, name, batch)
        failure_path(target).unlink(missing_ok=True)
        process = spawning.Process(target=write_export, args=(name, batch, target))
        process.start()
        process.join(MOST_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
            _fail(target, f"it took more than {MOST_SECONDS:.0f} s")
        elif not target.exists() and not failure_path(target).exists():
            _fail(target, f"its process ended with code {process.exitcode}")
        shown = "exported" if target.exists() else failure_path(target).read_text(encoding="utf-8")
        print(f"{name}: {shown}", flush=True)

    with ThreadPoolExecutor(MOST_EXPORTS) as pool:
        for _ in pool.map(exported, names):
            pass


def main() -> None:
    """Exports the models whose exports aren't there yet. If one fails, a file says why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", required=True, type=resolved)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_args()
    lacking = [
        name for name in asked.models if not export_path(asked.folder, name, asked.batch).exists()
    ]
    export_all(asked.folder, lacking, asked.batch, asked.seconds)


if __name__ == "__main__":
    main()
