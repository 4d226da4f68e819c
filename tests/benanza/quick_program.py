"""The program with ONNX Runtime timed for moments, as a process of its own:

    python -m tests.benanza.quick_program run zoo:squeezenet

Layers and ceilings are measured as ever, but each seldom: that takes a third of the time.
"""

import sys
from typing import Any

from benanza import cli
from benanza_runner import runtimes
from benanza_runner.ceilings import measured_ceilings
from benanza_runner.measuring.stopping import Rule
from benanza_runner.onnxruntime import block_conversions, runtime
from benanza_runner.onnxruntime.runtime import OnnxRuntime
from benanza_schemas.events import Ceiling
from benanza_schemas.layer import Precision

QUICK_PROGRAM = (sys.executable, "-m", "tests.benanza.quick_program")
QUICK_RUNTIME = "tests.benanza.quick_program:quick"
"""Stands in for `runtimes.ONNX_RUNTIME`."""

FEW = Rule(warm_up_us=0, samples=6, least_us=0, few_samples=6, cap_us=100_000, max_samples=6)
"""Six calls: three times, each the least of two, have a spread."""


class QuickRuntime(OnnxRuntime):
    """ONNX Runtime on a CPU, whose ceilings are measured in one round."""

    def ceilings(self, precision: Precision) -> tuple[Ceiling, ...]:
        return measured_ceilings(OnnxRuntime(libraries=()), precision, rounds=1)


def quick(**arguments: Any) -> QuickRuntime:
    """Made in a worker, which ends with it."""
    runtime.RULE = runtime.SCREENING = block_conversions.RULE = FEW
    return QuickRuntime(**arguments)


def main() -> None:
    sys.argv[0] = "benanza"
    runtimes.ONNX_RUNTIME = QUICK_RUNTIME
    cli.main()


if __name__ == "__main__":
    main()
