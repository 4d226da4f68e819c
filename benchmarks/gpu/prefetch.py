"""How weights are best prefetched on a GPU, for models run as their bounds say:

    python -m benchmarks.gpu.prefetch RECORDING OUT.json --models inception_v1,resnet50

It runs on a machine with the GPU of the recording. It begins with each of the witness's own
policies, and varies one number of the policy after another, with the others as they did best so
far. Every time is the median of many runs of the whole model.
"""

import argparse
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, cast

from benanza_analyzer.answers.policies import FASTEST
from benanza_ingest.reading.zoo import zoo_names
from benanza_runner.cuda.runtime import CudaRuntime
from benanza_runner.cuda.whole_model.prefetch import PERSISTING, PREFETCHING, PrefetchedRun
from benanza_runner.cuda.whole_model.prefetch_plan import PrefetchPolicy
from benanza_runner.cuda.whole_model.witness import PreparedProgram
from benanza_schemas.layer import Precision
from benchmarks.gpu.witness import Recorded, ingested_models
from benchmarks.record import derivations_of

GRID: dict[str, tuple[float, ...]] = {
    "batch_bytes": (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000),
    "least_wait_us": (0.25, 0.5, 1.0, 2.0),
    "bytes_per_us": (100_000, 200_000, 400_000, 800_000, 1_600_000),
    "blocks": (1, 2, 4, 8, 16, 33, 66, 132, 264),
    "most_bytes": (2_000_000, 4_000_000, 8_000_000, 16_000_000, 32_000_000),
    "persistent_bytes": (2_000_000, 4_000_000, 8_000_000, 12_000_000, 16_000_000, 24_000_000),
}
PASSES = 2


def main() -> None:
    """Prints a line for each model, and writes the file after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", default=",".join(zoo_names()))
    parser.add_argument("--precision", default="fp32")
    asked = parser.parse_args()
    runtime = CudaRuntime()
    models = ingested_models(asked.models.split(","), (1,), [{}], derivations_of(""))
    recorded = Recorded(asked.recording, models)
    rows: list[dict[str, Any]] = []
    for precision in cast(list[Precision], asked.precision.split(",")):
        for model, content in recorded.models:
            _, program = recorded.program(model, content, precision, FASTEST)
            assert program is not None, "a recording lacks no layer of its models"
            prepared = runtime.prepared(program, precision, parallel=False)
            without_us = runtime.timed(prepared.run).median_us
            bound_us = recorded.bounds[model.architecture_id, precision].sequential_us
            print(f"{model.name} {precision}: bound {bound_us:.1f}, run {without_us:.1f}")
            for first in (PREFETCHING, PERSISTING):
                tries = Tries(runtime, prepared)
                best = tries.improved(first)
                row = {
                    "model": model.name,
                    "precision": precision,
                    "first": first._asdict(),
                    "bound_us": bound_us,
                    "without_us": without_us,
                    "slowed": runtime.slowed(),
                    "tries": [(policy._asdict(), us) for policy, us in tries.known.items()],
                }
                rows.append(row)
                asked.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
                at_first, at_best = tries.us(first), tries.us(best)
                print(f"  {at_first:.1f}, at best {at_best:.1f} {best}", flush=True)


class Tries:
    """How long runs of one whole model take, by policy."""

    def __init__(self, runtime: CudaRuntime, program: PreparedProgram) -> None:
        self._runtime = runtime
        self._program = program
        self.known: dict[PrefetchPolicy, float] = {}

    def us(self, policy: PrefetchPolicy) -> float:
        """How long a run takes in microseconds; the same policy is tried once."""
        if policy not in self.known:
            with PrefetchedRun(self._program, policy).persisting() as run:
                self.known[policy] = self._runtime.timed(run).median_us
        return self.known[policy]

    def improved(self, policy: PrefetchPolicy) -> PrefetchPolicy:
        """The best policy that changes of one number after another lead to."""
        for name, numbers in chain.from_iterable(GRID.items() for _ in range(PASSES)):
            if policy.persistent_bytes or name != "persistent_bytes":
                policy = min((policy, *_varied(policy, name, numbers)), key=self.us)
        return policy


def _varied(
    policy: PrefetchPolicy, name: str, numbers: tuple[float, ...]
) -> Iterator[PrefetchPolicy]:
    for number in numbers:
        yield policy._replace(**{name: type(getattr(PrefetchPolicy(), name))(number)})


if __name__ == "__main__":
    main()
