"""What was published with Benanza's paper, from a clone of https://github.com/rai-project/dlperf:

    python -m study.paper2020 record CLONE recordings/nvidia-v100-2019.xz
    python -m study.paper2020 page CLONE > docs/results/paper-2020.md

`record` writes the measurements that the results hold of layers of the zoo's models, for `benanza
import`; of other models with `--model`, of another GPU with `--gpu`. `page` compares the bounds
that follow from them with the published ones.
"""

import argparse
from collections import Counter
from pathlib import Path

from benanza.importing.recording import write_recording
from benanza_backbone.errors import BenanzaError
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, zoo_names
from benanza_schemas.events import LayerMeasured, SystemMeasured
from benanza_schemas.layer import Layer
from study.paper2020.clone import Clone
from study.paper2020.page import page
from study.paper2020.recording import described, recorded, system_of
from study.paper2020.resnet50 import resnet50_v1

GPU = "Tesla_V100-SXM2-16GB"
RECORDINGS = Path(__file__).parents[2] / "recordings"
BATCH_SIZES = 1, 2, 4, 8, 16, 32


def main() -> None:
    """Runs the command that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    record, write = commands.add_parser("record"), commands.add_parser("page")
    for command in (record, write):
        command.add_argument("clone", type=Path)
        command.add_argument("--gpu", default=GPU)
    record.add_argument("file", type=Path)
    record.add_argument("--model", action="append")
    asked = parser.parse_args()
    clone = Clone(asked.clone, asked.gpu)
    try:
        if asked.command == "record":
            _record(clone, _models(asked.model), asked.file)
            return
        for line in page(clone, RECORDINGS):
            print(line)
    except BenanzaError as error:
        raise SystemExit(f"error: {error}") from error


def _models(asked: list[str] | None) -> list[bytes]:
    """The models whose layers are recorded: those asked for, or the nine and MXNet's ResNet50."""
    contents = [fetch(name, Limits()).content for name in asked or map(PREFIX.__add__, zoo_names())]
    return contents if asked else [*contents, resnet50_v1().SerializeToString()]


def _record(clone: Clone, models: list[bytes], file: Path) -> None:
    """Writes the recording, and says what of the layers and of the results is not in it. Batch
    sizes without results are left out.
    """
    driver, measured_at = clone.machine()
    events: dict[str, SystemMeasured | LayerMeasured] = {}
    for batch in BATCH_SIZES:
        sources = clone.sources(batch)
        results = [results_file for source in sources for results_file in source]
        if not results:
            continue
        system = system_of(results, driver)
        recording = recorded(layers_of(models, batch), sources, system, measured_at)
        introduction = described(system, measured_at)
        events[introduction.event_id] = introduction
        events |= {event.event_id: event for event in recording.events}
        timed = sum(not event.failure for event in recording.events)
        print(f"batch {batch}: {timed:,} measurements")
        for reason, count in recording.unmatched.most_common():
            print(f"  layers and groups without, as {reason}: {count:,}")
        for call, count in recording.idle.most_common():
            print(f"  benchmarks of {call} for none of the layers: {count:,}")
        for name, count in sum(
            (results_file.unread for results_file in results), Counter()
        ).most_common():
            print(f"  benchmarks of no known form, {name}…: {count:,}")
    write_recording(file, list(events.values()))


def layers_of(models: list[bytes], batch: int) -> dict[str, Layer]:
    """The layers and groups of some models at a batch size, by fingerprint, without views."""
    layers: dict[str, Layer] = {}
    for model in models:
        extracted = extract(model, batch=batch)
        layers |= {
            layer.fingerprint: layer.layer
            for layer in extracted.layers
            if layer.layer is not None and layer.kind != "view"
        }
        layers |= {group.fingerprint: group.layer for group in extracted.groups}
    return layers


if __name__ == "__main__":
    main()
