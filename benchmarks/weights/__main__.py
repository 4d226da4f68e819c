"""Measures the store of weights: `python -m benchmarks.weights [--weights N] [--repeat N]
[--loads N]`.

Without options: 1 GiB of weights, in 64 matrices; seven processes of each kind, in turns; 200 loads
with kills. It needs 6 GB of disk and 8 GB of memory.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.weights.kills import kill_at_random
from benchmarks.weights.models import EXTERNAL, make_model
from benchmarks.weights.processes import StoreProcess, TenantProcess, forget_cached, pss_bytes
from benchmarks.weights.tenant import WIDTH

TENANTS = 4


def main() -> None:
    """All of it, printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--loads", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benanza-weights-") as name:
        folder = Path(name)
        models = {}
        for kind in ("within", "beside"):
            models[kind] = folder / f"{kind}.onnx"
            make_model(
                models[kind], arguments.weights, seed=1, width=WIDTH, external=kind == "beside"
            )
        _first_inference(folder, models, arguments.repeat)
        _memory(folder, models)
    with tempfile.TemporaryDirectory(prefix="benanza-weights-") as name:
        outcome = kill_at_random(Path(name), arguments.loads, seed=1)
        print(f"\nkills, {arguments.loads} loads: {len(outcome.wrong)} wrong {outcome.wrong}")
        for end, count in sorted(outcome.ends.items()):
            print(f"  {count:4} {end}")
        print(f"  shared memory of the machine: {outcome.left_bytes / 1e6:+.1f} MB")


def _first_inference(folder: Path, models: dict[str, Path], repeat: int) -> None:
    """From the start of a process, and from when it asks for the model, to the first result."""
    times: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    results = set()
    files = [*models.values(), folder / f"beside-{EXTERNAL}"]
    with StoreProcess(folder, "--disk", str(folder / "disk")) as store:
        for _ in range(repeat + 1):
            for kind, model in models.items():
                for how in ("file", "store"):
                    for cached in (True, False) if how == "file" else (True,):
                        if not cached:
                            forget_cached(*files)
                        with TenantProcess(how, model, store.socket) as tenant:
                            ran = tenant.ran()
                        results.add(round(ran["result"], 2))
                        where = ran.get("tier", "page cache" if cached else "disk")
                        row = f"weights {kind} the file, {how}: {where}"
                        times[row].append((ran["all_seconds"], ran["seconds"], ran["again"]))
                        print(f"{row:44} {ran}", file=sys.stderr, flush=True)
    print(f"{'':44} {'process s':>20} {'model s':>20} {'next run ms':>12}  n")
    for row, measured in times.items():
        whole, part, again = ([each[i] for each in measured] for i in range(3))
        print(
            f"{row:44} {_spread(whole):>20} {_spread(part):>20} {median(again) * 1e3:12.1f}"
            f"  {len(measured)}"
        )
    print(f"results: {sorted(results)}")


def _spread(times: list[float]) -> str:
    return f"{median(times):.3f} ({min(times):.3f}-{max(times):.3f})"


def _memory(folder: Path, models: dict[str, Path]) -> None:
    """PSS of one and of several tenants, all of which have run the model."""
    print()
    for how in ("file", "store"):
        for kind, model in models.items():
            sums = []
            with StoreProcess(folder) as store, ExitStack() as stack:
                pids = [store.pid] if how == "store" else []
                for _ in range(TENANTS):
                    tenant = stack.enter_context(TenantProcess(how, model, store.socket))
                    tenant.ran()
                    pids.append(tenant.pid)
                    sums.append(pss_bytes(pids))
            print(
                f"weights {kind} the file, {how}: PSS of one tenant {sums[0] / 1e6:,.0f} MB, of "
                f"{TENANTS} {sums[-1] / 1e6:,.0f} MB, {sums[-1] / sums[0]:.2f} times"
            )


if __name__ == "__main__":
    main()
