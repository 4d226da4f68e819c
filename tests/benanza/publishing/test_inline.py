"""What fits into an event is compressed, and nothing takes long that doesn't."""

import lzma
import random

import pytest

from benanza.publishing.inline import InlineContent, inline_content
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import exported_models
from benanza_schemas.events import MAX_INLINE_MODEL_BYTES


@pytest.mark.parametrize("name", ["torchvision:swin_t", "torchvision:densenet201"])
def test_a_graph_without_weights_becomes_a_tenth_as_large(name: str) -> None:
    assert name in exported_models()
    content = fetch(f"zoo:{name}", Limits()).content
    inline = inline_content(content)
    assert inline is not None
    assert lzma.decompress(inline) == content
    assert len(inline) < len(content) / 10


def test_it_is_the_same_in_whatever_parts_it_comes() -> None:
    content = fetch("zoo:torchvision:swin_t", Limits()).content
    inline = InlineContent()
    for start in range(0, len(content), 777):
        inline.add(content[start : start + 777])
    assert inline.finish() == inline_content(content)


def test_what_is_too_large_is_given_up_on_the_way() -> None:
    weights = random.Random(1).randbytes(2 * MAX_INLINE_MODEL_BYTES)
    assert inline_content(weights[: MAX_INLINE_MODEL_BYTES - 10_000]) is not None
    assert inline_content(weights[:MAX_INLINE_MODEL_BYTES]) is None
    inline = InlineContent()
    for _ in range(1000):  # two gigabytes, which would take minutes
        inline.add(weights)
    assert inline.finish() is None
