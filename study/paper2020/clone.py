"""Where the published results lie in a clone of rai-project/dlperf."""

import csv
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from benanza_backbone.errors import BenanzaError
from study.paper2020.results import TOTAL, ResultsFile, read_results

SUBSETS = "resnet50", "mobilenetv2", "low_prec"
"""The folders below `results` with files that are small enough to be in every copy."""


class PublishedLayer(NamedTuple):
    """A layer of a published bound: its type in the words of 2020, and its time in nanoseconds."""

    kind: str
    ns: int


class PublishedBound(NamedTuple):
    """The sum that was published, in nanoseconds, and the layers that were listed with it.

    A convolution whose bias has no benchmark is in the sum only, without the bias.
    """

    total_ns: int
    layers: tuple[PublishedLayer, ...]


class Clone(NamedTuple):
    """A clone, and the GPU whose results are read, in the repository's words."""

    root: Path
    gpu: str

    def sources(self, batch: int) -> list[list[ResultsFile]]:
        """What the published look-up found for each model; then each of `SUBSETS`.

        Raises `BenanzaError` for a file that is not as published.
        """
        folder = self.root / f"assets/benchinfo/batchsize_{batch}" / self.gpu
        paths = [sorted(folder.glob("*.json")), *([self.subset(name, batch)] for name in SUBSETS)]
        return [[read_results(path) for path in source if path.exists()] for source in paths]

    def subset(self, name: str, batch: int) -> Path:
        """The file with all benchmarks of one of `SUBSETS`."""
        return self.root / "results" / name / self.gpu / f"{batch}.json"

    def machine(self) -> tuple[str, datetime]:
        """The version of the driver, and when the measuring began. The file names no time zone;
        UTC is assumed. Raises `BenanzaError` if the clone has no results of the GPU.
        """
        path = self.root / "results" / self.gpu / "nvidia_smi.xml"
        if not path.exists():
            raise BenanzaError(
                f"there is no {path}; name a clone of rai-project/dlperf, and one of the folders "
                "below its `assets/benchinfo/batchsize_1` as the GPU"
            )
        said = ElementTree.parse(path)
        driver, began = said.findtext("driver_version", ""), said.findtext("timestamp", "")
        return driver, datetime.strptime(began, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC)

    def bound(self, asset: str, model: str, batch: int) -> PublishedBound:
        """A published bound, such as one of the folder `serial_latency`."""
        path = self.root / "assets" / asset / f"batchsize_{batch}" / self.gpu / f"{model}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            *rows, total = csv.DictReader(file)
        assert total["BenchmarkName"] == TOTAL, f"{path} ends with its total"
        return PublishedBound(_ns(total), tuple(_layers(rows)))


def _layers(rows: Sequence[dict[str, str]]) -> Iterator[PublishedLayer]:
    """One for each layer: a bias has a line of its own, under the name of its convolution."""
    for (_, kind), lines in groupby(rows, lambda row: (row["LayerName"], row["LayerType"])):
        yield PublishedLayer(kind, sum(map(_ns, lines)))


def _ns(row: dict[str, str]) -> int:
    return round(float(row["RealTime(ms)"]) * 1e6)
