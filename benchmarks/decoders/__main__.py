"""Writes the decoders' graphs into a folder, without weights, a file for each:

    python -m benchmarks.decoders FOLDER
    python -m benchmarks.decoders FOLDER --small

With --small each has two of its layers, 8,192 words, four experts (or those that a word chooses, if
these are more) and no float16, so that a CPU holds and runs it. It keeps its widths, heads and bits
of weights. `decoders.tsv` beside the files is a listing for `benchmarks.real_files`, one word after
255.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from onnx import TensorProto

from benanza_ingest.decoders.building import build
from benanza_ingest.decoders.configurations import DECODERS
from benanza_ingest.decoders.decoder import Decoder

DIMS = "sequence_length=1 past_sequence_length=255 total_sequence_length=256"


def small(decoder: Decoder) -> Decoder:
    """The decoder with two of its layers, as a CPU can run it."""
    experts = min(decoder.experts, max(decoder.top_k, 4))
    return replace(decoder, layers=2, vocabulary=8192, precision=TensorProto.FLOAT, experts=experts)


def main() -> None:
    """Writes the files, and prints their names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true", help="two layers, for a CPU")
    asked = parser.parse_args()
    folder: Path = asked.folder
    folder.mkdir(parents=True, exist_ok=True)
    listing = ["path\tpackage\tdims"]
    for decoder in DECODERS:
        path = folder / f"{decoder.name}.onnx"
        path.write_bytes(build(small(decoder) if asked.small else decoder).SerializeToString())
        listing.append(f"{path.name}\tbenchmarks.decoders\t{DIMS}")
        print(path)
    (folder / "decoders.tsv").write_text("\n".join(listing) + "\n", "utf-8")


if __name__ == "__main__":
    main()
