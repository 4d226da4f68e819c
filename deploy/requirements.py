"""Prints what an image has to install: the project's dependencies, but for those named.

    python deploy/requirements.py [--without NAME...] [--extra EXTRA...]

Each service's image leaves out what that service never imports, which is most of the bytes. Those
of extras come on top. A name that is no dependency, or no extra, is an error, so that a
Dockerfile can't go on naming what is gone.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path


def main() -> None:
    """Reads pyproject.toml in the current folder, and prints a requirement a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--extra", nargs="*", default=[], metavar="EXTRA")
    asked = parser.parse_args()
    unwanted = set(asked.without)
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    if unknown := set(asked.extra) - extras.keys():
        parser.error(f"no extra of the project: {', '.join(sorted(unknown))}")
    texts = [*project["dependencies"], *(text for extra in asked.extra for text in extras[extra])]
    names = [re.split(r"[\[<>=~!; ]", text)[0] for text in texts]
    if unknown := unwanted - set(names):
        parser.error(f"no dependency of the project: {', '.join(sorted(unknown))}")
    wanted = [text for text, name in zip(texts, names, strict=True) if name not in unwanted]
    sys.stdout.writelines(f"{text}\n" for text in wanted)


if __name__ == "__main__":
    main()
