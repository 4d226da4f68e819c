"""Cuts of all recordings with layers of GPUs: what they say of two small models.

    python -m tests.analyzer.recorded_cuts

writes them anew into `tests/data/recorded`. Of the samples of a variant, the median is left.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from benanza.importing.recording import Recorded, read_recording, write_recording
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_schemas.events import LayerMeasured, ModelIngested, ModelPublished, SystemMeasured

RECORDINGS = Path(__file__).parents[2] / "recordings"
CUTS = Path(__file__).parents[1] / "data" / "recorded"
MODELS = (("zoo:squeezenet", 1), ("zoo:torchvision:resnet18", 1), ("zoo:torchvision:resnet18", 32))
"""With their batch sizes."""


def cut_models() -> list[ModelIngested]:
    """The models that the cuts are of."""
    found = []
    for name, batch in MODELS:
        model = fetch(name, Limits())
        published = ModelPublished(
            event_id="0" * 32, name=name, sha256=model.sha256, batch_sizes=(batch,)
        )
        events = ingest(published, model.content, Limits())
        found += [event for event in events if isinstance(event, ModelIngested)]
    return found


def cuts() -> dict[str, list[SystemMeasured | LayerMeasured]]:
    """What the stored cuts say, by recording."""
    return {
        path.stem: [
            event
            for _, event in read_recording(path)
            if isinstance(event, SystemMeasured | LayerMeasured)
        ]
        for path in sorted(CUTS.glob("*.xz"))
    }


def _cut(path: Path, fingerprints: set[str]) -> Iterator[Recorded]:
    for _, event in read_recording(path):
        if isinstance(event, SystemMeasured):
            yield event
        elif isinstance(event, LayerMeasured) and event.fingerprint in fingerprints:
            variants = tuple(
                replace(variant, samples_us=(variant.median_us,))
                for variant in event.variants
                if variant.median_us is not None
            )
            failure = event.failure or ("" if variants else "no variant is right")
            yield replace(event, variants=variants, failure=failure, environment={})


def main() -> None:
    """Writes the cuts."""
    models = cut_models()
    layers = {of.fingerprint for model in models for of in model.summaries}
    groups = {of.fingerprint for model in models for of in model.groups}
    CUTS.mkdir(parents=True, exist_ok=True)
    for path in sorted(RECORDINGS.glob("*.xz")):
        if events := list(_cut(path, layers | groups)):
            write_recording(CUTS / path.name, events)


if __name__ == "__main__":
    main()
