"""Digests of what ingest says of some models, by which a change that moves it is seen.

`python -m tests.ingest.golden` stores them beside this file, once `INGEST_VERSION` was raised.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b, sha256
from pathlib import Path
from typing import NamedTuple

import msgpack
import msgspec

from benanza_ingest.core import INGEST_VERSION, ingest
from benanza_ingest.limits import Limits
from benanza_schemas.events import ModelPublished
from tests.ingest.onnx_text import content as written
from tests.ingest.real_models import LIGHT
from tests.ingest.real_models import content as real

FILE = Path(__file__).with_suffix(".json")

EXPORTED = (
    "diffusers-unet",
    "timm-convnext_atto-raw",
    "timm-regnety_002",
    "timm-vit_tiny_patch16_224-raw",
    "torchvision-deeplabv3_mobilenet_v3_large",
    "torchvision-efficientnet_b0-raw",
    "torchvision-fasterrcnn_mobilenet_v3_large_320_fpn",
    "torchvision-shufflenet_v2_x1_0-raw",
    "torchvision-swin_t",
    "transformers-bert-raw",
    "transformers-gpt2",
    "transformers-llama-raw",
    "transformers-t5-decoder",
    "transformers-whisper-encoder",
)

AT_ANOTHER_BATCH_SIZE = (
    "resnet50",
    "timm-convnext_atto-raw",
    "timm-vit_tiny_patch16_224",
    "torchvision-deeplabv3_mobilenet_v3_large",
)
"""The last three hold their own batch size in constants, which ingest mends."""

UNRESOLVED = """
g (float[N,width,8] x, float[4,5] w, string[3] words, bool flag, seq(float[2]) parts)
    => (y, custom, wrong, text, places, chosen, joined)
{
    y = Relu(x)
    custom = com.example.Foo(w)
    wrong = MatMul(w, w)
    text = Identity(words)
    nonzero = NonZero(w)
    places = Relu(nonzero)
    chosen = If(flag) <
        then_branch = left () => (l) { l = Relu(w) },
        else_branch = right () => (r) { r = Tanh(w) }
    >
    joined = ConcatFromSequence <axis = 0> (parts)
}
"""
"""Layers that are skipped for different reasons."""


class Golden(NamedTuple):
    """What is stored: digests by model, and the version of ingest that they are of."""

    ingest_version: str
    digests: Mapping[str, str]


def stored() -> Golden:
    """What the file holds."""
    return Golden(**json.loads(FILE.read_text(encoding="utf-8")))


def found() -> dict[str, str]:
    """The digest of what ingest says now, by model."""
    digests = {name: _digest(real(name)) for name in (*LIGHT, *EXPORTED)}
    digests |= {f"{name}, batch 2": _digest(real(name), 2) for name in AT_ANOTHER_BATCH_SIZE}
    return digests | {"unresolved": _digest(written(UNRESOLVED, domains={"com.example": 1}))}


def _digest(content: bytes, batch: int | None = None) -> str:
    """Of all that the events say, but for their own ids, into which the version goes."""
    published = ModelPublished(
        event_id="0" * 32,
        name="model",
        sha256=sha256(content).hexdigest(),
        batch_sizes=() if batch is None else (batch,),
    )
    said = []
    for event in ingest(published, content, Limits()):
        fields = msgspec.to_builtins(event, builtin_types=(bytes,))
        del fields["event_id"], fields["schema_version"]
        said.append(fields)
    return blake2b(msgpack.packb(said), digest_size=16).hexdigest()


def store() -> None:
    """Stores the digests. Raises `SystemExit` where they moved and the version didn't."""
    golden = Golden(INGEST_VERSION, found())
    if FILE.exists():
        before = stored()
        known = before.digests.items() & golden.digests.items()
        moved = before.digests.keys() & golden.digests.keys() - dict(known).keys()
        if moved and before.ingest_version == INGEST_VERSION:
            raise SystemExit(f"raise INGEST_VERSION first: ingest says something else of {moved}")
    FILE.write_text(json.dumps(golden._asdict(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    store()
