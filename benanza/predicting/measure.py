"""Measures the ceilings of the GPU here, and writes them as `benanza bounds --on` reads them:

    python -m benanza.predicting.measure > my-gpu.toml

They are those that a runner measures, in a few minutes and without a data folder. What is needed
is `pip install 'benanza[cuda]'`. Nothing else may run on the GPU.
"""

import sys
from typing import get_args

from benanza.predicting.specification import MATRIX
from benanza_analyzer.limits.ceilings import SystemCeilings
from benanza_analyzer.prediction.gpu import GpuSpecification, attained_rates
from benanza_backbone.errors import BenanzaError
from benanza_runner.cuda.available import why_unavailable
from benanza_runner.runtime import Runtime
from benanza_schemas.events import SystemMeasured
from benanza_schemas.layer import Precision
from benanza_schemas.limits import FIRST_TIME


def main() -> None:
    """Prints the file."""
    if reason := why_unavailable():
        raise SystemExit(f"no ceilings can be measured: this {reason}")
    import cupy

    from benanza_runner.cuda.runtime import CudaRuntime

    device = cupy.cuda.Device()
    try:
        found = measured_specification(
            CudaRuntime(interleaved=False),
            compute_capability=f"{device.compute_capability[:-1]}.{device.compute_capability[-1]}",
            multiprocessors=device.attributes["MultiProcessorCount"],
            clock=device.attributes["ClockRate"] * 1e3,
        )
    except BenanzaError as error:
        raise SystemExit(str(error)) from error
    sys.stdout.write(written(found))


def measured_specification(
    runtime: Runtime, *, compute_capability: str, multiprocessors: int, clock: float
) -> GpuSpecification:
    """The GPU of a runtime, with ceilings that are measured now. `clock` is in hertz.

    Raises `BenanzaError` if one that is needed can't be measured.
    """
    system = runtime.system()
    ceilings = SystemCeilings()
    for precision in get_args(Precision):
        ceilings.add(
            SystemMeasured(
                event_id=system.system_id,
                system=system,
                measured_at=FIRST_TIME,
                ceilings=runtime.ceilings(precision),
                cache_bytes=runtime.cache_bytes(),
            )
        )
    highest, rates = attained_rates(ceilings)
    if not all(highest):
        raise BenanzaError("not all ceilings could be measured; see what a run on this GPU says")
    return GpuSpecification(
        name=system.accelerator,
        figures="measured",
        compute_capability=compute_capability,
        multiprocessors=multiprocessors,
        clock=clock,
        memory=highest.memory,
        cache_bytes=highest.cache_bytes,
        flops=rates,
        cache_bandwidth=highest.bandwidth,
        launch_us=1e6 / highest.launches,
    )


def written(gpu: GpuSpecification) -> str:
    """The file that describes a GPU, in TOML."""
    lines = [
        f'name = "{gpu.name}"',
        f'figures = "{gpu.figures}"',
        f'compute_capability = "{gpu.compute_capability}"',
        f"multiprocessors = {gpu.multiprocessors:.0f}",
        f'clock = "{gpu.clock / 1e6:.0f} MHz"',
        f'memory = "{gpu.memory / 1e12:.4f} TB/s"',
        f'cache = "{gpu.cache_bytes / 2**20:.4f} MiB"',
    ]
    if gpu.cache_bandwidth is not None:
        lines.append(f'cache_bandwidth = "{gpu.cache_bandwidth / 1e12:.4f} TB/s"')
    if gpu.launch_us is not None:
        lines.append(f'launch = "{gpu.launch_us:.4f} us"')
    rates = [f'{precision} = "{rate / 1e12:.4f} TFLOP/s"' for precision, rate in gpu.flops.items()]
    return "\n".join((*lines, "", f"[{MATRIX}]", *rates, ""))


if __name__ == "__main__":
    main()
