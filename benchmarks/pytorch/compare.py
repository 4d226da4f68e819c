"""Lower bounds of models against PyTorch at its best, on an NVIDIA GPU:

    python -m benchmarks.pytorch.compare OUT.jsonl --models resnet50,timm:vit_tiny_patch16_224
    python -m benchmarks.pytorch.compare OUT.jsonl --models all --precision fp16 --seconds 250
    python -m benchmarks.pytorch.compare OUT.jsonl --models all --sides bounds,runs

It exports the models whose exports aren't in the folder of `--exports`, times PyTorch, measures the
bounds, and prints tables in Markdown. Each of these is a process of its own, one after the other,
because PyTorch brings its own cuDNN. With `runs` among the sides, each model is then run as its
bound says, and its results are compared with a reference; for that, layers are also timed
interleaved with other kernels and with cold weights, which takes longer. A file whose bounds were
measured without `runs` lacks these times: then there is no attainable estimate, and no prefetching.

Each result adds a line to the file, and each measured layer one to OUT.layers.gz. What is there is
not run again, so that the same command goes on from where it stopped; after a change to the code,
take another file. On several GPUs, start it once for each with CUDA_VISIBLE_DEVICES, a file of its
own and --part 1/2, 2/2; `benchmarks.pytorch.report` prints the tables of several files.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pytorch.arguments import (
    MOST_AT_ONCE,
    MOST_EXPORTS,
    Arguments,
    Side,
    export_path,
    failure_path,
    parsed,
    rows_in,
)
from benchmarks.pytorch.report import markdown
from benchmarks.pytorch.rows import Bounded, Ran, Result, Timed


def main() -> None:
    """Runs the parts, and prints what the file holds then, and what it lacks."""
    asked = parsed(__doc__ or "")
    sides = asked.sides if asked.seconds > 0 else []
    if "pytorch" in sides and (keys := asked.lacking(Timed)):
        # A compiler that outlives its process for a moment may still write there.
        with TemporaryDirectory(ignore_cleanup_errors=True) as cache:
            _run("peers", *sys.argv[1:], **_shared(len(keys), asked.parts, cache))
    if "bounds" in sides and (keys := asked.lacking(Bounded)):
        _export(asked, dict.fromkeys(name for name, _, _ in keys))
        _run("bounds", *sys.argv[1:])
    if "runs" in sides and asked.lacking(Ran):
        _run("runs", *sys.argv[1:])
    print(markdown(rows_in(asked.file)))
    print(not_run(asked, sys.argv[1:]))


def _export(asked: Arguments, names: Iterable[str]) -> None:
    """Exports those that weren't yet; with `--retry`, also those that couldn't be."""
    paths = {name: export_path(asked.exports, name, asked.batch) for name in names}
    wanted = [
        name
        for name, path in paths.items()
        if not path.exists() and (asked.retry or not failure_path(path).exists())
    ]
    if wanted:
        models = f"--models={','.join(wanted)}"
        arguments = models, f"--batch={asked.batch}", f"--seconds={asked.seconds}"
        threads = max(1, _cores(asked.parts) // min(len(wanted), MOST_EXPORTS))
        _run("export", asked.exports, *arguments, OMP_NUM_THREADS=str(threads))


def not_run(asked: Arguments, arguments: Sequence[str]) -> str:
    """How many results the file lacks, and the command that goes on; if it lacks none, nothing."""
    kinds: dict[Side, tuple[str, type[Result]]] = {
        "pytorch": ("PyTorch's times", Timed),
        "bounds": ("bounds", Bounded),
        "runs": ("runs", Ran),
    }
    counts = [
        f"{len(keys)} of {len(asked.keys())} {title}"
        for title, kind in (kinds[side] for side in asked.sides)
        if (keys := asked._replace(retry=False).lacking(kind))
    ]
    if not counts:
        return ""
    command = shlex.join(["python", "-m", "benchmarks.pytorch.compare", *arguments])
    return f"Not run yet: {', '.join(counts)}. This goes on:\n\n    {command}"


def _run(module: str, *arguments: str | Path, **environment: str) -> None:
    """Runs a module to its end. If it fails, the others run all the same."""
    command = [sys.executable, "-m", f"benchmarks.pytorch.{module}", *map(str, arguments)]
    ended = subprocess.run(command, env=os.environ | environment, check=False)
    if ended.returncode:
        print(f"{module} ended with code {ended.returncode}", flush=True)


def _cores(parts: int) -> int:
    """The processors for each of the parts, which run at the same time."""
    return max(1, (os.cpu_count() or 1) // parts)


def _shared(processes: int, parts: int, cache: str) -> dict[str, str]:
    """Settings with which so many processes share the processors.

    The largest model compiles longest; then it has half of the processors.
    """
    cores = _cores(parts)
    processes = min(processes, MOST_AT_ONCE)
    return {
        "OMP_NUM_THREADS": str(max(1, cores // processes)),
        "TORCHINDUCTOR_COMPILE_THREADS": str(max(2, min(cores // 2, 2 * cores // processes))),
        "TORCHINDUCTOR_CACHE_DIR": cache,
        "TRITON_CACHE_DIR": f"{cache}/triton",
    }


if __name__ == "__main__":
    main()
