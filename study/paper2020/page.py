"""The page on the results of 2020: what comes of them here, beside what was published then."""

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benanza.importing.import_recordings import import_recordings
from benanza.looking.bounds import known_bounds
from benanza.publishing.publish import PublishRequest, publish
from benanza.request import BoundPolicy
from benanza.settings import load
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.settings import Settings
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_schemas.layer import Precision
from benchmarks.pytorch.cells import line
from study.paper2020.clone import Clone
from study.paper2020.comparison import BesidePublished, beside, counted
from study.paper2020.recording import recorded, system_of
from study.paper2020.resnet50 import resnet50_v1
from study.paper2020.results import ResultsFile
from study.paper2020.text import BEGIN, BESIDE_H200, DIFFERENCES, REASONS

BATCH_SIZES = 1, 32

ZOO: Mapping[str, str] = {
    "alexnet": "BVLC_AlexNet",
    "densenet121": "DenseNet-121",
    "inception_v1": "Inception-v1",
    "inception_v2": "Inception-v2",
    "resnet50": "ResNet050-v1",
    "shufflenet": "Shufflenet",
    "squeezenet": "Squeezenet-v1.1",
    "vgg19": "VGG19",
    "zfnet512": "Zfnet512",
}
"""Models of the zoo, and what they are called in the published results."""

OTHER_GRAPH = "resnet50"
"""The one of these whose published graph is another."""

MXNET = "ResNet50-v1"
"""The graph of `study.paper2020.resnet50`."""


class Published(NamedTuple):
    """Which published bounds are meant: the folder they are in, the precision, and which of
    `Clone.sources` they were found with.
    """

    asset: str
    precision: Precision
    source: int


ALL = Published("serial_latency", "fp32", 0)
OWN = Published("resnet50_serial_latency", "fp32", 1)
HALF = Published("serial_latency_float16", "fp16", 3)


class Row(NamedTuple):
    """A model's published bound beside that from the same results; times in nanoseconds."""

    model: str
    published: Published
    batch: int
    published_ns: int
    listed: int
    here_ns: int
    missing: int
    other_mode: int
    beside: BesidePublished


def compared(clone: Clone, kinds: Sequence[Published] = (ALL,)) -> Iterator[Row]:
    """Every published bound of which the graph and the results are to be had; those of ResNet50-v1
    are of several kinds.
    """
    for batch in BATCH_SIZES:
        sources = clone.sources(batch)
        for model, name in ZOO.items():
            extracted = extract(fetch(f"zoo:{model}", Limits()).content, batch=batch)
            yield _row(clone, sources, model, extracted, name, ALL)
        extracted = extract(resnet50_v1().SerializeToString(), batch=batch)
        for kind in kinds:
            yield _row(clone, sources, MXNET, extracted, ZOO["resnet50"], kind)


def _row(
    clone: Clone,
    sources: Sequence[Sequence[ResultsFile]],
    model: str,
    extracted: ExtractedModel,
    name: str,
    published: Published,
) -> Row:
    driver, measured_at = clone.machine()
    source = sources[published.source]
    layers = {
        layer.fingerprint: layer.layer for layer in extracted.layers if layer.layer is not None
    }
    events = recorded(layers, [source], system_of(source, driver), measured_at).events
    here = counted(extracted.layers, events, published.precision)
    bound = clone.bound(published.asset, name, extracted.batch)
    return Row(
        model=model,
        published=published,
        batch=extracted.batch,
        published_ns=bound.total_ns,
        listed=len(bound.layers),
        here_ns=sum(layer.ns for layer in here.layers),
        missing=here.missing,
        other_mode=here.other_mode,
        beside=beside(bound.layers, here.layers),
    )


TITLES = (
    *("model", "published in", "batch", "published µs", "here µs", "ratio"),
    *("listed", "alike", "missing", "other mode"),
)


def comparison_table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the table of bounds."""
    yield line(TITLES)
    yield "|---" * len(TITLES) + "|"
    for row in rows:
        numbers = row.listed, row.beside.alike, row.missing, row.other_mode
        yield line(
            (
                *(row.model, f"`{row.published.asset}`", str(row.batch)),
                *(f"{ns / 1000:,.1f}" for ns in (row.published_ns, row.here_ns)),
                f"{row.here_ns / row.published_ns:.4f}",
                *map(str, numbers),
            )
        )


def difference_table(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of the table of layers that are in one of two bounds only."""
    yield "| model | batch | type | only published | only here |"
    yield "|---|---|---|---|---|"
    for row in rows:
        for kind, published, here in row.beside.differences:
            yield line((row.model, str(row.batch), kind, _layers(published), _layers(here)))


def _layers(ns: Sequence[int]) -> str:
    return f"{len(ns)}: {fsum(ns) / 1000:,.1f} µs" if ns else "–"


def gpu_table(root: Path) -> Iterator[str]:
    """The lines of the table of all GPUs of a clone."""
    yield "| GPU | bounds | layers published | alike |"
    yield "|---|---|---|---|"
    for folder in sorted((root / "assets" / "benchinfo" / "batchsize_1").iterdir()):
        rows = [row for row in compared(Clone(root, folder.name)) if row.model != OTHER_GRAPH]
        listed, alike = sum(row.listed for row in rows), sum(row.beside.alike for row in rows)
        yield line((folder.name, str(len(rows)), f"{listed:,}", f"{alike:,}"))


def system_table(then: Sequence[ModelBound], now: Sequence[ModelBound]) -> Iterator[str]:
    """The lines of the table of bounds on two systems, and the ratio where both are whole."""
    yield "| model | batch | V100, 2019, µs | H200, 2026, µs | times as fast |"
    yield "|---|---|---|---|---|"
    later = {(current.model, current.batch): current for current in now}
    for bound in sorted(then, key=lambda former: (former.batch, former.model)):
        other = later[bound.model, bound.batch]
        figures = bound.sequential_us or 0.0, other.sequential_us or 0.0
        ratio = "–" if bound.partial or other.partial else f"{figures[0] / figures[1]:.2f}"
        cells = _figure(bound), _figure(other), ratio
        yield line((bound.model, str(bound.batch), *cells))


def _figure(bound: ModelBound) -> str:
    """A bound's figure, and how many layers it lacks."""
    lacking = len(bound.coverage.missing)
    return f"{bound.sequential_us or 0.0:,.1f}" + (f", without {lacking}" if lacking else "")


def page(clone: Clone, recordings: Path) -> Iterator[str]:
    """The lines of the page. The clone is of the V100, as are the recordings of both systems."""
    rows = list(compared(clone, (ALL, OWN, HALF)))
    yield BEGIN
    yield from comparison_table(rows)
    yield DIFFERENCES
    yield from difference_table([row for row in rows if row.published != HALF])
    yield REASONS
    yield from gpu_table(clone.root)
    yield BESIDE_H200
    with TemporaryDirectory() as folder:
        yield from system_table(*_bounds(load(Path(folder) / "data"), recordings))


def _bounds(settings: Settings, recordings: Path) -> tuple[list[ModelBound], list[ModelBound]]:
    """Those of the zoo's models on a V100, and on an H200."""
    import_recordings([recordings / "nvidia-v100-2019.xz", recordings / "nvidia-h200.xz"], settings)
    models = [f"zoo:{model}" for model in ZOO]
    publish(models, PublishRequest(batch_sizes=BATCH_SIZES), settings)
    policy = BoundPolicy(("fp32",), fusion=False, accounting="paper")
    bounds = known_bounds(settings, [], policy, {}, None).bounds
    return [bound for bound in bounds if "V100" in bound.system], [
        bound for bound in bounds if "H200" in bound.system
    ]
