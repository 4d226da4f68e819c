"""Measured layers in a file, to which each is added at once.

The file is text, each line an event in JSON and compressed with gzip on its own. A recording for
`benanza import` is smaller, but is written as a whole.
"""

import gzip
from collections.abc import Iterable
from pathlib import Path

import msgspec

from benanza_schemas.events import LayerMeasured
from benanza_schemas.layer import Precision


def events_in(file: Path) -> list[LayerMeasured]:
    """All measurements in a file, none if it isn't there. Raises `msgspec.DecodeError` if it holds
    anything else.
    """
    content = gzip.decompress(file.read_bytes()) if file.exists() else b""
    return msgspec.json.Decoder(LayerMeasured).decode_lines(content)


class Measurements:
    """One system's measurements by fingerprint and precision: layers that models share are measured
    once. Those in the file are there from the start. Raises `msgspec.DecodeError` if it holds
    anything else. `added` counts those that were added, `device_seconds` adds up for how long they
    had the device.
    """

    def __init__(self, file: Path, system_id: str) -> None:
        self._file = file
        self.added = 0
        self.device_seconds = 0.0
        self._measured = {
            (event.fingerprint, event.precision): event
            for event in events_in(file)
            if event.system.system_id == system_id
        }

    def __len__(self) -> int:
        return len(self._measured)

    def __contains__(self, layer: tuple[str, Precision]) -> bool:
        return layer in self._measured

    def add(self, event: LayerMeasured) -> None:
        """Keeps a measurement, in the file as well."""
        self.added += 1
        self.device_seconds += float(event.environment.get("device_seconds", 0.0))
        self.add_again(event)

    def add_again(self, event: LayerMeasured) -> None:
        """Keeps one that was added for another precision, and takes no time again."""
        self._measured[event.fingerprint, event.precision] = event
        with self._file.open("ab") as file:
            file.write(gzip.compress(msgspec.json.encode(event) + b"\n"))

    def of(self, fingerprints: Iterable[str], precision: Precision) -> list[LayerMeasured]:
        """Those of these layers that were measured at this precision."""
        keys = ((fingerprint, precision) for fingerprint in fingerprints)
        return [self._measured[key] for key in keys if key in self._measured]
