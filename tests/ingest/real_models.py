"""Real models without weights: those of the onnx package, and exported ones."""

import gzip
import json
from functools import cache
from pathlib import Path

from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.reading.zoo import zoo_names, zoo_path

_EXPORTED = Path(__file__).parent.parent / "data" / "exported"

LIGHT = zoo_names()
EXPORTED = sorted(path.name.removesuffix(".onnx.gz") for path in _EXPORTED.glob("*.onnx.gz"))
ALL = [*LIGHT, *EXPORTED]

DEPEND_ON_DATA = frozenset(name for name in EXPORTED if "rcnn" in name or "ssd" in name)
"""Detectors: how many boxes they find, and so the sizes of what follows, depends on the image."""

MATRIX_FLOPS: dict[str, int] = json.loads(
    (_EXPORTED / "matrix_flops.json").read_text(encoding="utf-8")
)["matrix_flops"]
"""What `torch.utils.flop_counter` counts, by model."""


@cache
def content(name: str) -> bytes:
    """The bytes of a model's ONNX file."""
    if name in LIGHT:
        return zoo_path(name).read_bytes()
    return gzip.decompress((_EXPORTED / f"{name}.onnx.gz").read_bytes())


@cache
def extracted(name: str) -> ExtractedModel:
    """What ingest finds in a model as it stands."""
    return extract(content(name))
