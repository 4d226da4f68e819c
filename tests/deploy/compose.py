"""What docker-compose.yml says, with its anchors and merges resolved."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]

BESIDE_BYTES = 2**29
"""What the service ingest takes beside the process that reads a model, at most."""

OURS = ("ingest", "dedupe", "runner", "runner-gpu", "agent", "analyzer")
"""The services that run without end; `topics` runs once."""


def seconds(text: str) -> float:
    """A duration of Compose, of one unit."""
    return float(text[:-1]) * {"s": 1, "m": 60}[text[-1]]
