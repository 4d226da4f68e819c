"""What tests look at of each model of the zoo, and two pages say. To take all of them apart takes
many seconds.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from benanza.publishing.zoo_models import zoo
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX
from benchmarks.zoo import row
from study.population import Composition, composition
from tests.shared import made_once


class Extracted(NamedTuple):
    """The model's line in docs/zoo.md, its layers, and why some of them are skipped."""

    row: str
    composition: Composition
    skipped: tuple[str, ...]


@cache
def extracted_zoo() -> Sequence[Extracted]:
    """All models, in the zoo's order."""
    file = made_once("extracted-zoo", _make) / "models.json"
    return msgspec.json.decode(file.read_bytes(), type=list[Extracted])


def _make(folder: Path) -> None:
    models = []
    for each in zoo(exported=True).models:
        found = extract(fetch(each.model, Limits()).content)
        layers = composition(each.model.removeprefix(PREFIX), found)
        skipped = tuple(layer.reason for layer in found.layers if layer.layer is None)
        models.append(Extracted(row(each, found), layers, skipped))
    (folder / "models.json").write_bytes(msgspec.json.encode(models))
