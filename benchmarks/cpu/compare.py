"""Bounds of a CPU against the fastest of ONNX Runtime, OpenVINO and compiled PyTorch:

    python -m benchmarks.cpu.compare RESULTS DATA > docs/results/cpu.md

It needs the extras `cpu` and `pytorch`, and a machine that does nothing else. Layers are measured
into the folder DATA, and what that holds already isn't measured again. The file RESULTS has a line
for each model that is done, so that the program goes on where it was stopped; a line for each model
goes to standard error. What a framework can't run is there with the reason.

A model whose fastest run takes less than its bound has both measured again, up to three times in
all; then the lowest bound stands beside the fastest run.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from math import exp, log
from pathlib import Path
from statistics import fmean, median

import msgspec

import benanza
from benanza.publishing.fetched_once import FetchedOnce
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits
from benanza_runner.cpu import available_cores, cpu_name
from benchmarks.cpu.turns import TURNS, Processes, Run, processes
from benchmarks.cpu.ways import WAYS

ROUNDS = 3

NINE = "alexnet densenet121 inception_v1 inception_v2 resnet50 shufflenet squeezenet vgg19 zfnet512"
OTHERS = """
    torchvision:convnext_tiny torchvision:googlenet torchvision:mobilenet_v2
    torchvision:mobilenet_v3_large torchvision:regnet_y_400mf torchvision:resnet18
    torchvision:shufflenet_v2_x1_0 torchvision:squeezenet1_1 torchvision:swin_t torchvision:vgg11
    torchvision:vit_b_16 timm:ghostnetv2_100 timm:mixer_s16_224 timm:poolformer_s12 timm:repvgg_a0
    timm:vit_tiny_patch16_224 transformers:distilbert-base transformers:electra-small
    transformers:llama-small transformers:segformer-b0
"""
MODELS = tuple(f"zoo:{name}" for name in (NINE + OTHERS).split())


class Row(msgspec.Struct, frozen=True):
    """What came of a model. `libraries` count the calls of the bound that each is the fastest for;
    without a bound, `failure` says why.
    """

    model: str
    bound_us: float | None
    spread_us: float
    partial: bool
    libraries: dict[str, int]
    runs: tuple[Run, ...]
    rounds: int = 1
    failure: str = ""

    def fastest(self) -> Run | None:
        """The way with the least median; `None` if the model runs in none."""
        ran = [run for run in self.runs if not run.failure]
        return min(ran, key=lambda run: run.median_us, default=None)

    def ratio(self) -> float | None:
        """How many times as long as the whole bound the fastest run takes."""
        fastest = self.fastest()
        if fastest is None or self.partial or not self.bound_us:
            return None
        return fastest.median_us / self.bound_us


def measured(model: str, runtime: str, data: Path, frameworks: Processes) -> Row:
    """The bound of a model and its runs, again where the bound isn't below them."""
    row = _round(model, runtime, data, frameworks)
    for number in range(2, ROUNDS + 1):
        ratio = row.ratio()
        if ratio is None or ratio >= 1:
            break
        other = data.with_name(f"{data.name}-{number}")
        row = _better(row, _round(model, runtime, other, frameworks))
    return row


def _round(model: str, runtime: str, data: Path, frameworks: Processes) -> Row:
    try:
        content = FetchedOnce().whole(model, Limits())
        (bound,) = benanza.lower_bound(model, runtime=runtime, data=data).bounds
        (explained,) = benanza.explain(model, data=data).explanations
    except (BenanzaError, ValueError) as error:
        return Row(model, None, 0.0, False, {}, (), failure=" ".join(str(error).split()))
    libraries = Counter(call.library for call in explained.calls if call.library)
    return Row(
        model,
        bound.sequential_us,
        bound.sequential_spread_us or 0.0,
        bound.partial,
        dict(libraries.most_common()),
        tuple(frameworks.runs(content, None)),
    )


def _better(former: Row, latter: Row) -> Row:
    """The lower bound of two rounds, and the faster of each way's runs."""
    if latter.ratio() is None:
        return former
    lower = min(former, latter, key=lambda row: row.bound_us or 0.0)
    runs = tuple(
        min(pair, key=lambda run: (bool(run.failure), run.median_us))
        for pair in zip(former.runs, latter.runs, strict=True)
    )
    return msgspec.structs.replace(lower, runs=runs, rounds=former.rounds + 1)


def markdown(rows: Sequence[Row]) -> str:
    """The page."""
    titles = [way.title() for way in WAYS]
    header = ["model", "bound µs", *(f"{title} µs" for title in titles), "fastest / bound"]
    lines = ["# Bounds and frameworks on a CPU", "", *_findings(rows), "", *_BEGIN]
    lines += [f"| {' | '.join([*header, 'rounds', 'calls of the bound'])} |"]
    lines += ["|---" * (len(header) + 2) + "|", *map(_line, rows)]
    reasons = list(_reasons(rows))
    if reasons:
        lines += ["", "## What is missing", "", *reasons]
    return "\n".join(lines)


_BEGIN = (
    "`python -m benchmarks.cpu.compare` writes this page.",
    "",
    "- *bound* is the sequential one, ± its spread; *≥* one that lacks layers.",
    f"- Runs are the median of all calls in {TURNS} turns, ± their interquartile range. Frameworks "
    "take turns, each in a process of its own, in float32 and with as many threads as layers are "
    "measured with. The fastest is bold.",
    "- PyTorch compiles the model that the file was exported of; the nine models are translated.",
    "- Where the fastest run took less than the bound, both were measured again, up to "
    f"{ROUNDS} times in all (*rounds*).",
    "- *Calls of the bound* count which library is the fastest for how many.",
    "",
)


def _line(row: Row) -> str:
    fastest = row.fastest()
    cells = [row.model.removeprefix("zoo:")]
    lacking = "≥ " * row.partial
    cells.append("–" if row.bound_us is None else f"{lacking}{_us(row.bound_us, row.spread_us)}")
    for run in row.runs or [Run("", failure="–")] * len(WAYS):
        mark = "**" if run is fastest else ""
        cells.append("–" if run.failure else f"{mark}{_us(run.median_us, run.iqr_us)}{mark}")
    ratio = row.ratio()
    cells += ["–" if ratio is None else f"{ratio:.2f}", str(row.rounds)]
    cells.append(", ".join(f"{count} {name}" for name, count in row.libraries.items()) or "–")
    return f"| {' | '.join(cells)} |"


def _us(value: float, spread: float) -> str:
    return f"{value:,.0f} ± {spread:,.0f}"


def _findings(rows: Sequence[Row]) -> Iterator[str]:
    ratios = [ratio for ratio in (row.ratio() for row in rows) if ratio is not None]
    if ratios:
        mean = exp(fmean(map(log, ratios)))
        yield (
            f"- The fastest of three frameworks takes {min(ratios):.2f} to {max(ratios):.2f} times "
            f"as long as the bound, {median(ratios):.2f} in the median and {mean:.2f} in the "
            f"geometric mean of {len(ratios)} models."
        )
        above = [row.model for row in rows if (row.ratio() or 1.0) < 1]
        names = ", ".join(name.removeprefix("zoo:") for name in above)
        are = "bound is" if len(above) == 1 else "bounds are"
        yield f"- {len(above)} {are} above it{': ' + names if names else ''}."
    fastest = Counter(run.way for run in (row.fastest() for row in rows) if run is not None)
    wins = "; ".join(f"{way}: {count}" for way, count in fastest.most_common())
    yield f"- How often each was the fastest: {wins or 'none ran'}."
    libraries: Counter[str] = Counter()
    for row in rows:
        libraries.update(row.libraries)
    calls = "; ".join(f"{name}: {count:,}" for name, count in libraries.most_common())
    yield f"- How many calls of the bounds each library is the fastest for: {calls or 'none'}."
    yield f"- Measured on {cpu_name()}, {available_cores()} threads, with {_versions()}."


def _versions() -> str:
    packages = {"ONNX Runtime": "onnxruntime", "OpenVINO": "openvino", "PyTorch": "torch"}
    found = []
    for name, package in packages.items():
        with suppress(PackageNotFoundError):
            found.append(f"{name} {version(package)}")
    return ", ".join(found)


def _reasons(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows:
        said = [row.failure, *(f"{run.way}: {run.failure}" for run in row.runs if run.failure)]
        for reason in filter(None, said):
            yield f"- {row.model.removeprefix('zoo:')}: {reason}"


def stored(path: Path) -> list[Row]:
    """The rows that a file has; none without a file."""
    if not path.exists():
        return []
    return [msgspec.json.decode(line, type=Row) for line in path.read_bytes().splitlines()]


def main() -> None:
    """Measures what the file of results lacks, and prints the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--runtime", default="onnxruntime", help="what measures layers")
    asked = parser.parse_args()
    done = {row.model for row in stored(asked.results)}
    with processes(WAYS) as frameworks:
        for model in asked.models:
            if model in done:
                continue
            row = measured(model, asked.runtime, asked.data, frameworks)
            with asked.results.open("ab") as file:
                file.write(msgspec.json.encode(row) + b"\n")
            print(_line(row), *_reasons([row]), sep="\n", file=sys.stderr, flush=True)
    print(markdown(stored(asked.results)))


if __name__ == "__main__":
    main()
