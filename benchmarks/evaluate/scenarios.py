r"""Models under the four scenarios in frameworks, beside their bounds, several times:

    python -m benchmarks.evaluate.scenarios RESULTS DATA --framework onnxruntime,openvino MODEL...
    python -m benchmarks.evaluate.scenarios RESULTS DATA --scenario single-stream,offline MODEL...
    python -m benchmarks.evaluate.scenarios RESULTS DATA --framework pytorch --precision fp16 \
        --configuration "CUDA graph" MODEL...

It needs the extra `evaluate`, and a machine that does nothing else. Bounds are those in the folder
DATA. The file RESULTS has a line for each run that is done, so that the program goes on where it
was stopped. The table of all goes to standard output: medians of the repetitions, and how far the
greatest throughput is from the least.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import median

import msgspec

from benanza.evaluating.command import evaluate
from benanza.evaluating.request import SCENARIOS, EvaluationRequest, Scenario
from benanza.settings import load
from benanza_schemas.element_types import PRECISIONS

HEAD = (
    "| model | framework | scenario | valid | p50 ms | p99 ms | of the bound's latency | samples/s "
    "| spread | of the bound's throughput |\n|---|---|---|---|---|---|---|---|---|---|"
)


class LoadedRun(msgspec.Struct, frozen=True):
    """What came of a run; the ratio and the share are those of `EvaluatedModel`."""

    model: str
    framework: str
    scenario: Scenario
    number: int
    failure: str = ""
    valid: bool = False
    reason: str = ""
    slowed_by: str = ""
    p50_us: float | None = None
    p99_us: float | None = None
    per_s: float | None = None
    rate_per_s: float | None = None
    limit_us: float | None = None
    latency_ratio: float | None = None
    throughput_share: float | None = None


def run(request: EvaluationRequest, number: int, data: Path) -> LoadedRun:
    """Runs a model under a scenario for the so-many-th time."""
    found = evaluate(request, load(data))
    named = LoadedRun(request.model, request.framework, request.scenario, number)
    measured = found.evaluation.measured
    if measured is None:
        return msgspec.structs.replace(named, failure=found.evaluation.failure)
    latency = measured.latency
    return msgspec.structs.replace(
        named,
        valid=measured.validity.valid,
        reason=measured.validity.reason,
        slowed_by=found.evaluation.slowed_by,
        p50_us=latency.p50_us if latency else None,
        p99_us=latency.p99_us if latency else None,
        per_s=measured.per_s,
        rate_per_s=found.evaluation.rate_per_s,
        limit_us=found.evaluation.limit_us,
        latency_ratio=found.latency_ratio,
        throughput_share=found.throughput_share,
    )


def ordered(
    runs: Iterable[LoadedRun],
    models: Sequence[str],
    frameworks: Sequence[str],
    scenarios: Sequence[str] = SCENARIOS,
) -> list[LoadedRun]:
    """Those of the runs that were asked for, in this order."""
    order = list(product(models, frameworks, scenarios))
    asked = [each for each in runs if (each.model, each.framework, each.scenario) in order]
    return sorted(asked, key=lambda each: order.index((each.model, each.framework, each.scenario)))


def rows(runs: Iterable[LoadedRun]) -> Iterator[str]:
    """A line of the table for each model, framework and scenario."""
    alike: dict[tuple[str, str, str], list[LoadedRun]] = defaultdict(list)
    for each in runs:
        alike[each.model, each.framework, each.scenario].append(each)
    for (model, framework, scenario), repeated in alike.items():
        valid = sum(each.valid for each in repeated)
        rates = [each.per_s for each in repeated if each.per_s is not None]
        spread = f"{max(rates) / min(rates) - 1:.1%}" if rates else "-"
        cells = (
            model.removeprefix("zoo:"),
            framework,
            scenario,
            f"{valid} of {len(repeated)}" if rates else repeated[0].failure,
            _cell([each.p50_us for each in repeated], 1e-3, "{:.2f}"),
            _cell([each.p99_us for each in repeated], 1e-3, "{:.2f}"),
            _cell([each.latency_ratio for each in repeated], 1.0, "{:.2f}"),
            _cell(rates, 1.0, "{:,.1f}"),
            spread,
            _cell([each.throughput_share for each in repeated], 100.0, "{:.0f} %"),
        )
        yield f"| {' | '.join(cells)} |"


def _cell(values: Iterable[float | None], factor: float, form: str) -> str:
    known = [value for value in values if value is not None]
    return form.format(factor * median(known)) if known else "-"


def main() -> None:
    """Runs what isn't done yet, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--framework", default="onnxruntime,openvino")
    parser.add_argument("--scenario", default=",".join(SCENARIOS))
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument(
        "--configuration", default="", help="of the framework; by default its first"
    )
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--duration", type=float, default=10.0)
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--limit-ms", type=float, help="of servers; by default their own")
    given = parser.parse_args()
    decoder = msgspec.json.Decoder(LoadedRun)
    done = [
        decoder.decode(line)
        for line in (given.results.read_bytes().splitlines() if given.results.exists() else [])
    ]
    known = {(each.model, each.framework, each.scenario, each.number) for each in done}
    frameworks, scenarios = given.framework.split(","), given.scenario.split(",")
    if unknown := set(scenarios) - set(SCENARIOS):
        there_are = ", ".join(SCENARIOS)
        parser.error(f"there is no scenario {', '.join(sorted(unknown))}; there are {there_are}")
    every = product(range(given.times), given.models, frameworks, scenarios)
    for number, model, framework, scenario in every:
        if (model, framework, scenario, number) in known:
            continue
        request = EvaluationRequest(
            model=model,
            framework=framework,
            configuration=given.configuration,
            precision=given.precision,
            scenario=scenario,
            duration_s=given.duration,
            streams=given.streams,
            limit_us=1_000 * given.limit_ms if given.limit_ms else None,
        )
        done.append(run(request, number, given.data))
        with given.results.open("ab") as file:
            file.write(msgspec.json.encode(done[-1]) + b"\n")
    print("\n".join([HEAD, *rows(ordered(done, given.models, frameworks, scenarios))]))


if __name__ == "__main__":
    main()
