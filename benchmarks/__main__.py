"""Runs all benchmarks, or those named: `python -m benchmarks [NAME ...]`."""

import sys
from importlib import import_module

BENCHMARKS = (
    *("ingest", "analyzer", "checkpoints", "end_to_end"),
    *("dedupe", "sink", "shell", "latency", "memory", "scale_out"),
    "commands",
)


def main(names: list[str]) -> None:
    """Runs each benchmark under a heading of its own."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        raise SystemExit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    for name in names or BENCHMARKS:
        module = import_module(f"benchmarks.{name}")
        print(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
        module.main()


if __name__ == "__main__":
    main(sys.argv[1:])
