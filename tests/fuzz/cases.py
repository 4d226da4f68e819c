"""Hostile inputs, each made from a seed and a number alone: what goes wrong can be made again."""

import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

import onnx
from onnx import ModelProto

from benanza_schemas.codec import encode
from tests.fuzz.events import with_changed_fields
from tests.fuzz.models import changed
from tests.ingest.mutations import with_damaged_bytes
from tests.ingest.real_models import content as real
from tests.schemas import samples

REAL = (
    "squeezenet transformers-t5-decoder timm-regnety_002 transformers-whisper-encoder "
    "torchvision-deeplabv3_mobilenet_v3_large"
).split()

MOST_BYTES = 500_000
"""Larger models may take longer than a second."""

KINDS = ("model, fields", "model, bytes", "event, fields", "event, bytes")

_ONNX_DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


class Case(NamedTuple):
    """`kind` is one of `KINDS`. A model is asked for at a batch size, None for its own."""

    kind: str
    content: bytes
    batch: int | None = None


def kind_of(number: int) -> str:
    """Of the input with this number."""
    return KINDS[number % len(KINDS)]


def case(seed: int, number: int) -> Case:
    """The same for the same seed and number."""
    chance = random.Random(f"{seed} {number}")
    kind = kind_of(number)
    if kind.startswith("event"):
        event = chance.choice(_events())
        if kind == "event, bytes":
            return Case(kind, with_damaged_bytes(event, chance.getrandbits(32)))
        return Case(kind, with_changed_fields(event, chance))
    models = _real_models() if chance.random() < 0.1 else small_models()
    content = chance.choice(models)
    batch = chance.choice((None, None, 1, 2, 7, 2**40))
    if kind == "model, bytes":
        return Case(kind, with_damaged_bytes(content, chance.getrandbits(32)), batch)
    other = changed(ModelProto.FromString(content), chance)
    return Case(kind, other if len(other) <= MOST_BYTES else content, batch)


@cache
def _events() -> list[bytes]:
    return [encode(event) for event in samples.EVENTS]


@cache
def _real_models() -> list[bytes]:
    return [real(name) for name in REAL]


@cache
def small_models() -> list[bytes]:
    """One for each case that onnx has for its operators; at most 20 kB each."""
    files = sorted(_ONNX_DATA.glob("*/*/model.onnx"))
    return [file.read_bytes() for file in files if file.stat().st_size < 20_000]
