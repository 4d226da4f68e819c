"""Ingest: its time beside what onnx needs for the same files, and the memory that it takes."""

import gc
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference
from rich.console import Console
from rich.table import Table

from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import zoo_names, zoo_path
from benanza_schemas.events import ModelPublished, event_id

REPEATS = 11
WANTED_RATIO = 1.5

WEIGHTS_BYTES = 1_000_000_000
WANTED_PEAK_BYTES = 200_000_000
WANTED_TIME_RATIO = 1.5

_MEASURED_PROCESS = """
import sys
import time
from benchmarks.ingest import ingest_model, memory_bytes
before = memory_bytes("VmRSS")
started = time.process_time()
ingest_model(sys.argv[1])
print(memory_bytes("VmHWM") - before, time.process_time() - started)
"""


def main() -> None:
    """Prints a table of times for the nine light models, and one of memory."""
    console = Console()
    console.print(_times())
    if sys.platform == "linux":
        console.print(_memory())


def ingest_model(file: str) -> None:
    """The whole of ingest: reads the file, takes its checksum, and makes the events."""
    fetched = fetch(file, Limits())
    published = ModelPublished(
        event_id=event_id("ModelPublished", fetched.sha256),
        name=fetched.name,
        sha256=fetched.sha256,
        uri=fetched.uri,
    )
    ingest(published, fetched.content, Limits())


def memory_bytes(entry: str) -> int:
    """What Linux says of this process: `VmRSS` is its memory, `VmHWM` the most that it had.

    `getrusage` doesn't do here: a new process inherits the peak of the one that starts it.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == entry:
            return int(value.removesuffix("kB")) * 1024
    raise LookupError(f"/proc/self/status has no {entry}")


def _times() -> Table:
    """Both sides do one model after another, in turns, after a round that isn't counted."""
    names = zoo_names()
    files = [str(zoo_path(name)) for name in names]
    rounds = [
        [(_seconds(_infer, file), _seconds(ingest_model, file)) for file in files]
        for _ in range(REPEATS + 1)
    ][1:]
    table = Table(title=f"CPU time, medians of {REPEATS} rounds")
    for column in ("model", "onnx.load + infer_shapes, ms", "ingest, ms", "ratio", "quartiles"):
        table.add_column(column, justify="right")
    for index, name in enumerate(names):
        _add_row(table, name, [measured[index] for measured in rounds])
    totals = [(sum(p for p, _ in measured), sum(o for _, o in measured)) for measured in rounds]
    table.add_section()
    ratio = _add_row(table, "all", totals)
    table.caption = f"wanted: at most {WANTED_RATIO} for all; {_met(ratio <= WANTED_RATIO)}"
    return table


def _infer(file: str) -> None:
    shape_inference.infer_shapes(onnx.load(file))


def _seconds(call: Callable[[str], None], file: str) -> float:
    gc.collect()  # Neither side is to search through what the other has left.
    start = time.process_time()
    call(file)
    return time.process_time() - start


def _add_row(table: Table, name: str, measured: list[tuple[float, float]]) -> float:
    ratios = [ours / peer for peer, ours in measured]
    low, middle, high = quantiles(ratios, n=4)
    peer, ours = (median(side) * 1e3 for side in zip(*measured, strict=True))
    table.add_row(name, f"{peer:.1f}", f"{ours:.1f}", f"{middle:.2f}", f"{low:.2f} to {high:.2f}")
    return middle


def _memory() -> Table:
    table = Table(title="A large file, with its weights inside")
    for column in ("file, MB", "peak, MB", "reading and SHA-256, s", "ingest, s", "ratio"):
        table.add_column(column, justify="right")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.onnx"
        _write_large_model(file)
        size = file.stat().st_size
        reading_s = min(_seconds(_read_and_hash, str(file)) for _ in range(3))
        command = [sys.executable, "-c", _MEASURED_PROCESS, str(file)]
        runs = [
            subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.split()
            for _ in range(3)
        ]
    peak, ingest_s = (min(float(run[field]) for run in runs) for field in (0, 1))
    ratio = ingest_s / reading_s
    times = (f"{figure:.2f}" for figure in (reading_s, ingest_s, ratio))
    table.add_row(f"{size / 1e6:,.0f}", f"{peak / 1e6:,.0f}", *times)
    met = peak <= WANTED_PEAK_BYTES and ratio <= WANTED_TIME_RATIO
    table.caption = (
        f"Peak: beyond what a process with ingest loaded takes. Wanted: at most "
        f"{WANTED_PEAK_BYTES / 1e6:.0f} MB, and {WANTED_TIME_RATIO} times as long; {_met(met)}"
    )
    return table


def _read_and_hash(file: str) -> None:
    with Path(file).open("rb") as opened:
        hashlib.file_digest(opened, "sha256")


def _write_large_model(file: Path) -> None:
    """Convolutions and matrix products in turns, with random weights inside the file."""
    width = 1024
    rng = np.random.default_rng(0)
    weights: list[TensorProto] = []
    nodes = [helper.make_node("GlobalAveragePool", ["image"], ["pooled"])]
    value, held = "pooled", 0
    while held < WEIGHTS_BYTES:
        name = f"conv{len(weights)}"
        array = rng.random((width, width, 3, 3), np.float32)
        weights.append(numpy_helper.from_array(array, f"{name}.weight"))
        nodes.append(helper.make_node("Conv", [value, weights[-1].name], [name], pads=[1] * 4))
        value, held = name, held + array.nbytes
    nodes.append(helper.make_node("Flatten", [value], ["flat"]))
    array = rng.random((width, width), np.float32)
    weights.append(numpy_helper.from_array(array, "gemm.weight"))
    nodes.append(helper.make_node("Gemm", ["flat", "gemm.weight"], ["y"]))
    graph = helper.make_graph(
        nodes,
        "large",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, width, 14, 14])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, width])],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]), file)


def _met(met: bool) -> str:
    return "met" if met else "not met"
