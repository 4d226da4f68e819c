"""How much sooner a process has its first result where its weights are on the GPU already:

    python -m benchmarks.weights.on_gpu [--weights N] [--repeat N]

Without options: 1 GiB of weights, in 64 matrices of float32, in PyTorch. A process reads them from
the file, which memory may hold or not, or leases them of a store that has them on the GPU. Each
kind runs in turns. Times are from when the process asks, its CUDA context being there, and from its
start.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median

from benchmarks.weights.models import EXTERNAL, make_model
from benchmarks.weights.processes import StoreProcess, forget_cached
from benchmarks.weights.tenant import WIDTH

TENANT = """
import sys, time
import numpy as np, torch
model, socket = sys.argv[1:]
torch.ones(8, 8, device="cuda") @ torch.ones(8, 8, device="cuda")
torch.cuda.synchronize()
started = time.perf_counter()
def result(weights):
    x = torch.ones(1, weights[0].shape[0], device="cuda")
    for weight in weights:
        x = x @ weight
    return float(x.abs().sum())
if socket:
    from benanza_backbone.weights.lease import leased
    from benanza_backbone.weights.on_gpu import gpu_arrays
    with leased(model, socket=socket, gpu=0) as lease:
        arrays = sorted(gpu_arrays(lease).items())
        found = result([torch.as_tensor(array, device="cuda") for _, array in arrays])
        print(lease.tier, time.perf_counter() - started, found, flush=True)
        del arrays
else:
    import onnx
    from onnx import numpy_helper
    tensors = sorted(onnx.load(model).graph.initializer, key=lambda tensor: tensor.name)
    found = result([torch.from_numpy(numpy_helper.to_array(t).copy()).cuda() for t in tensors])
    print("file", time.perf_counter() - started, found, flush=True)
"""


def main() -> None:
    """Prints medians, and how much sooner the store is than the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    times: dict[str, list[tuple[float, float]]] = defaultdict(list)
    results = set()
    with tempfile.TemporaryDirectory(prefix="benanza-weights-") as name:
        folder = Path(name)
        model = folder / "m.onnx"
        make_model(model, asked.weights, seed=1, width=WIDTH, external=True)
        with StoreProcess(folder, "--gpu-memory", "4GB") as store:
            for turn in range(asked.repeat + 1):
                for kind in ("not cached", "cached", "store"):
                    if kind == "not cached":
                        forget_cached(model, folder / f"m-{EXTERNAL}")
                    tier, seconds, whole, result = _run(
                        model, store.socket if kind == "store" else None
                    )
                    results.add(result)
                    if turn:  # the first fills the store
                        times[kind if kind != "store" else f"store, {tier}"].append(
                            (seconds, whole)
                        )
    print(f"results differ: {len(results) > 1}")
    print(f"{'':24} {'asked, s':>10} {'process, s':>11}")
    for kind, taken in times.items():
        asking, whole = (median(column) for column in zip(*taken, strict=True))
        print(f"{kind:24} {asking:10.4f} {whole:11.3f}")


def _run(model: Path, socket: Path | None) -> tuple[str, float, float, str]:
    """Which tier gave the weights, the seconds since asking and since the start, the result."""
    started = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", TENANT, str(model), str(socket or "")],
        capture_output=True,
        text=True,
        check=True,
    )
    tier, seconds, result = ran.stdout.split()
    return tier, float(seconds), time.perf_counter() - started, result


if __name__ == "__main__":
    main()
