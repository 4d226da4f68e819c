"""Hostile models by the code that they reach: what reaches new code is kept, and changed further.

    .venv/bin/pip install atheris
    .venv/bin/python -m tests.fuzz.guided --seconds 600 --folder FOLDER

Atheris (libFuzzer) sees which lines of ingest and of the schemas a model reaches, not what onnx
and protobuf do in their own code. Events are decoded in such code, so they are left to `campaign`.
FOLDER keeps the models, from which the next campaign goes on, and below `wrong` those that went
wrong, named by their ends. Atheris makes all slower: try slow ones again with `outcome`.
"""

import argparse
import hashlib
import random
import sys
from contextlib import suppress
from pathlib import Path

import atheris
from google.protobuf.message import DecodeError
from onnx import ModelProto

with atheris.instrument_imports(include=["benanza_ingest", "benanza_schemas"]):
    from tests.fuzz.cases import Case, small_models
    from tests.fuzz.models import changed
    from tests.fuzz.outcome import WRONG, outcome

BYTES_SHARE = 0.2
"""Of the changes that are of bytes, and not of the structure."""

MOST_BYTES = 50_000
"""Of a model; larger ones take longer, and reach little more."""

BATCHES = (None, 1, 7)
"""The batch size that a model is asked for at follows from its length."""

NAME = 12
"""Characters of a model's hash in a file's name."""


def main() -> None:
    """Ends when the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    corpus, wrong = options.folder / "corpus", options.folder / "wrong"
    corpus.mkdir(parents=True, exist_ok=True)
    wrong.mkdir(exist_ok=True)
    for content in small_models():
        (corpus / _name(content)).write_bytes(content)

    def look(content: bytes) -> None:
        batch = BATCHES[len(content) % len(BATCHES)]
        found = outcome(Case("model, bytes", content, batch))
        if found.end in WRONG:
            name = f"{found.end}-batch-{batch}-{_name(content)}"
            (wrong / name).write_bytes(content)
            print(f"WRONG: {name}: {found.said[:300]!r}", file=sys.stderr)

    libfuzzer = {
        "max_total_time": options.seconds,
        "seed": options.seed,
        "max_len": MOST_BYTES,
        "artifact_prefix": f"{wrong}/",  # of a crash, or of what takes the following seconds or MB
        "timeout": 60,
        "rss_limit_mb": 4096,
    }
    arguments = [f"-{name}={value}" for name, value in libfuzzer.items()]
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], look, custom_mutator=_changed)
    atheris.Fuzz()


def _changed(content: bytes, most_bytes: int, seed: int) -> bytes:
    chance = random.Random(seed)
    if chance.random() > BYTES_SHARE:
        # A model whose bytes were changed may be none, or lack what is chosen from.
        with suppress(DecodeError, LookupError, ValueError):
            found = changed(ModelProto.FromString(content), chance)
            if len(found) <= most_bytes:
                return found
    mutated: bytes = atheris.Mutate(content, most_bytes)
    return mutated


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:NAME]


if __name__ == "__main__":
    main()
