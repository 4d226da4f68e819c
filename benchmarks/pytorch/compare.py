"""Lower bounds of torchvision's models against PyTorch at its best, on an NVIDIA GPU:

    python -m benchmarks.pytorch.compare OUT.jsonl --models resnet50,vgg19 --precision fp32,fp16

Exports the models whose exports aren't in the folder of `--exports`, times PyTorch, measures the
bounds, and prints tables in Markdown. Each of these is a process of its own, one after the other:
PyTorch brings its own cuDNN. The file takes a line after each result, and keeps what it has.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, cast

from benanza_schemas.layer import Precision
from benchmarks.pytorch.report import markdown, read


class Arguments(NamedTuple):
    """The command's arguments. `seconds` are for each of the two sides."""

    file: Path
    models: list[str]
    precisions: list[Precision]
    batch: int
    seconds: float
    exports: Path
    max_autotune: bool


def parsed() -> Arguments:
    """What this process was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--models", required=True)
    parser.add_argument("--precision", default="fp32,tf32,fp16")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument(
        "--seconds",
        type=float,
        default=3600.0,
        help="after so many PyTorch begins no model, and so for the bounds and their layers",
    )
    parser.add_argument("--exports", type=Path, default=Path("data/exports"))
    parser.add_argument("--max-autotune", action="store_true", help="minutes for a model")
    found = parser.parse_args()
    return Arguments(
        found.file,
        found.models.split(","),
        [cast(Precision, each) for each in found.precision.split(",")],
        found.batch,
        found.seconds,
        found.exports,
        found.max_autotune,
    )


def export_path(folder: Path, name: str, batch: int) -> Path:
    """Where a model's export lies."""
    return folder / f"{name}-b{batch}.onnx"


def failure_path(export: Path) -> Path:
    """Where it says why there is no export."""
    return export.with_suffix(".failure")


def main() -> None:
    """Runs the parts, and shows what the file holds then."""
    asked = parsed()
    lacking = [
        name for name in asked.models if not export_path(asked.exports, name, asked.batch).exists()
    ]
    if lacking:
        models = f"--models={','.join(lacking)}"
        _run("models", asked.exports, models, f"--batch={asked.batch}")
    # A compiler that outlives its process for a moment may still write there.
    with TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        _run(
            "peers",
            *sys.argv[1:],
            **_shared(len(asked.models) * len(asked.precisions), cache),
        )
    _run("bounds", *sys.argv[1:])
    print(markdown(read([asked.file])))


def _run(module: str, *arguments: str | Path, **environment: str) -> None:
    """Runs a module to its end. If it fails, the others still have something to say."""
    command = [sys.executable, "-m", f"benchmarks.pytorch.{module}", *map(str, arguments)]
    ended = subprocess.run(command, env=os.environ | environment, check=False)
    if ended.returncode:
        print(f"{module} ended with code {ended.returncode}", flush=True)


def _shared(processes: int, cache: str) -> dict[str, str]:
    """Settings with which so many processes share the processors; the largest model compiles
    longest, and has half of them in the end.
    """
    cores = os.cpu_count() or 1
    return {
        "OMP_NUM_THREADS": str(max(1, cores // processes)),
        "TORCHINDUCTOR_COMPILE_THREADS": str(max(2, cores // 2)),
        "TORCHINDUCTOR_CACHE_DIR": cache,
        "TRITON_CACHE_DIR": f"{cache}/triton",
    }


if __name__ == "__main__":
    main()
