"""The program with ONNX Runtime timed for moments, as a process of its own:

    python -m tests.benanza.quick_program run zoo:squeezenet

Layers and ceilings are measured as ever, but each seldom: that takes a third of the time.
"""

import sys
from functools import partial
from typing import Any

from benanza import cli
from benanza_runner import runtimes
from benanza_runner.ceilings import measured_ceilings
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnxruntime import block_conversions, runtime
from benanza_runner.onnxruntime.runtime import OnnxRuntime

QUICK_PROGRAM = (sys.executable, "-m", "tests.benanza.quick_program")
QUICK_RUNTIME = "tests.benanza.quick_program:quick"
"""Stands in for `runtimes.ONNX_RUNTIME`."""

FEW = Rule(warm_up_us=0, samples=3, least_us=0, few_samples=3, cap_us=1_000, max_samples=3)


def quick(**arguments: Any) -> OnnxRuntime:
    """ONNX Runtime in a worker, which ends with it."""
    runtime.RULE = runtime.SCREENING = block_conversions.RULE = FEW
    runtime.measured_ceilings = partial(measured_ceilings, rounds=1)  # type: ignore[attr-defined]
    return OnnxRuntime(**arguments)


def main() -> None:
    sys.argv[0] = "benanza"
    runtimes.ONNX_RUNTIME = QUICK_RUNTIME
    cli.main()


if __name__ == "__main__":
    main()
