"""Writes the decoders' graphs into a folder, without weights, a file for each:

python -m benchmarks.decoders FOLDER
"""

import argparse
from pathlib import Path

from benchmarks.decoders.building import build
from benchmarks.decoders.configurations import DECODERS


def main() -> None:
    """Writes the files, and prints their names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for decoder in DECODERS:
        path = folder / f"{decoder.name}.onnx"
        path.write_bytes(build(decoder).SerializeToString())
        print(path)


if __name__ == "__main__":
    main()
