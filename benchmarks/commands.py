"""What do the commands cost that people wait for: help, a Tab, a look at what is known?

Seconds of the processor, with all processes that a command starts, in the median of several runs.
The data folder is new: models are published, and the H200's recording is imported, which computes
their bounds. Of other looks, the first after a change needs the store's engine, the next don't.
"""

import os
import resource
import statistics
import subprocess
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from benanza_ingest.reading.zoo import zoo_names

ROUNDS = 5
PROGRAM = Path(sysconfig.get_path("scripts")) / "benanza"
RECORDING = Path(__file__).parents[1] / "recordings" / "nvidia-h200.xz"
MODELS = tuple(f"zoo:{name}" for name in zoo_names())

QUICK = {
    "benanza --version": ("--version",),
    "benanza --help": ("--help",),
    "benanza bounds --help": ("bounds", "--help"),
    "benanza bou<Tab>": (),
}
QUICK_S = 0.3

LOOKS = {
    "benanza bounds": ("bounds",),
    "benanza explain zoo:resnet50": ("explain", "zoo:resnet50", "--precision", "fp16"),
    "benanza layers": ("layers",),
    "benanza status": ("status",),
}
LOOK_S = 1.0

CHANGES = {
    "benanza publish, nine models": ("publish", *MODELS),
    "benanza import nvidia-h200.xz": ("import", str(RECORDING)),
}


def main() -> None:
    """Prints a table of the seconds."""
    table = Table()
    for column in ("command", "seconds", "wanted"):
        table.add_column(column, justify="left" if column == "command" else "right")
    with TemporaryDirectory(prefix="benanza-bench-") as data:
        for name, arguments in QUICK.items():
            table.add_row(name, _median(arguments, data), f"{QUICK_S}")
        for name, arguments in CHANGES.items():
            table.add_row(f"{name}, once", f"{_seconds(arguments, data):.1f}", "")
        for name, arguments in LOOKS.items():
            table.add_row(f"{name}, the first", f"{_seconds(arguments, data):.2f}", f"{LOOK_S}")
            table.add_row(f"{name}, again", _median(arguments, data), f"{LOOK_S}")
    Console().print(table)


def _median(arguments: tuple[str, ...], data: str) -> str:
    return f"{statistics.median(_seconds(arguments, data) for _ in range(ROUNDS)):.2f}"


def _seconds(arguments: tuple[str, ...], data: str) -> float:
    """Of the processor, of the program and of what it starts. Without arguments it is a Tab."""
    environment = {**os.environ, "BENANZA_DATA": data}
    if not arguments:
        words = {"COMP_WORDS": "benanza bou", "COMP_CWORD": "1"}
        environment |= {"_BENANZA_COMPLETE": "bash_complete", **words}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
